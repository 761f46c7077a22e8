"""What ``train.py -m`` has beyond Hydra: a sweeper for populations and a launcher for Ray.

Importing this package registers both with Hydra.
"""

from hydra.core.plugins import Plugins

from training.sweeps.population_sweeper import PopulationSweeper
from training.sweeps.ray_launcher import RayLauncher

for _plugin in (PopulationSweeper, RayLauncher):
    _plugin.__module__ = "hydra_plugins.ndm"  # Hydra instantiates no plugin from another namespace
    Plugins.instance().register(_plugin)
