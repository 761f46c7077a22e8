"""The environment: importing it registers `NdmTcp-v1` with Gymnasium. Every command imports it first."""

from env.command import use_packages

use_packages()

import gymnasium  # noqa: E402

ENV_ID = "NdmTcp-v1"

if ENV_ID not in gymnasium.registry:
    gymnasium.register(
        id=ENV_ID, entry_point="env.gym.ndm_env:NdmEnv", vector_entry_point="env.gym.vector_env:NdmVectorEnv"
    )
