"""What ``train.py -m`` has that Hydra has not; Hydra looks for its plugins in the namespace package hydra_plugins.

Hydra executes a plugin before it is in sys.modules, where a dataclass looks up types that are strings: the plugins
leave out ``from __future__ import annotations``.
"""
