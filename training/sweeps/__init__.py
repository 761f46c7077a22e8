"""The extensions of Hydra for ``train.py -m``: a sweeper for populations and a launcher for Ray.

Importing this package registers both with Hydra.
"""

import sys

from hydra.core.plugins import Plugins

_plugins = Plugins.instance()  # before the imports: its scan executes Hydra's plugins, the base of ours, again

from training.sweeps.population_sweeper import PopulationSweeper  # noqa: E402
from training.sweeps.ray_launcher import RayLauncher  # noqa: E402

# Hydra instantiates plugins from the namespace hydra_plugins only: there this package is called hydra_plugins.ndm.
sys.modules["hydra_plugins.ndm"] = sys.modules[__name__]
for _plugin in (PopulationSweeper, RayLauncher):
    _plugin.__module__ = "hydra_plugins.ndm"
    _plugins.register(_plugin)
