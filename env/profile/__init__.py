"""Training profiles: the mixtures of configs/profile, the episodes drawn from them, and the paths held out."""

from env.errors import UserError
from env.profile.checks import check_profile
from env.profile.episode_config import (
    LEARNER,
    PATH_FEATURES,
    RIVALS,
    SNAPSHOT,
    EpisodeConfig,
    EpisodeFlow,
    OwnRival,
    scenario_episode_config,
)
from env.profile.load import FOLDER, load_profile, profile_from_config, profile_names
from env.profile.mixture import DRAWN_FIELDS, Draw, MixtureComponent, Profile, mean_positive_normal, with_jitter
from env.profile.own_rivals import own_names, own_rivals
from env.profile.sampler import PathSampler

__all__ = [
    "DRAWN_FIELDS",
    "FOLDER",
    "LEARNER",
    "PATH_FEATURES",
    "RIVALS",
    "SNAPSHOT",
    "Draw",
    "EpisodeConfig",
    "EpisodeFlow",
    "MixtureComponent",
    "OwnRival",
    "PathSampler",
    "Profile",
    "UserError",
    "check_profile",
    "load_profile",
    "mean_positive_normal",
    "own_names",
    "own_rivals",
    "profile_from_config",
    "profile_names",
    "scenario_episode_config",
    "with_jitter",
]
