"""What ``train.py -m`` has beyond Hydra: a sweeper for populations and a launcher for Ray.

Importing this package registers both with Hydra.
"""

import sys

from hydra.core.plugins import Plugins

from training.sweeps.population_sweeper import PopulationSweeper
from training.sweeps.ray_launcher import RayLauncher

# Hydra instantiates plugins from the namespace hydra_plugins only: there this package is called hydra_plugins.ndm.
sys.modules["hydra_plugins.ndm"] = sys.modules[__name__]
for _plugin in (PopulationSweeper, RayLauncher):
    _plugin.__module__ = "hydra_plugins.ndm"
    Plugins.instance().register(_plugin)
