"""Makes the packages of the source tree importable in this process."""

from __future__ import annotations

import functools
import sys
from importlib import import_module, invalidate_caches
from importlib.util import find_spec
from pathlib import Path

from ndm_tcp.workspace import prepare

PACKAGES = ("env", "export", "training", "compare")


@functools.cache
def activate() -> Path:
    """Make env, training, export and compare importable in this process; return the folder of the source tree.

    Raises ImportError when a module of one of these names is there already, such as an env.py beside the program: each
    of the two would be found in place of the other. Raises WorkspaceError when the tree cannot be unpacked.
    """
    tree = prepare()
    for name in PACKAGES:
        if other := _other_module(name, tree):
            raise ImportError(
                f"ndm_tcp needs its own packages {', '.join(PACKAGES)}, but {name} is {other}: rename that, or start "
                "Python where it does not find it. The command ndm-tcp works beside it."
            )
    sys.path.append(str(tree))
    invalidate_caches()
    for name in PACKAGES:  # now, so that no later change of sys.path comes in between
        import_module(name)
    return tree


def _other_module(name: str, tree: Path) -> str | None:
    """Return a module that has the name of a package of the tree. A mere folder is none: packages precede it."""
    if name in sys.modules:
        file = getattr(sys.modules[name], "__file__", None)
        found = file or "imported already, as a folder without __init__.py"
    else:
        spec = find_spec(name)
        file = found = spec.origin if spec else None
    return None if file and Path(file).is_relative_to(tree) else found
