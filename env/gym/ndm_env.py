"""The Gymnasium environment `NdmTcp-v1`: one TCP flow of a real Linux kernel, one decision per round trip."""

from __future__ import annotations

from typing import Any, ClassVar

import gymnasium
import numpy as np

from env.gym.episode import BootLab, Episode, boot_lab
from env.profile import Profile
from env.reward import terms_table
from env.schema import ACTIONS, FEATURES
from env.spaces import FEATURE_SCALE, INFO, FloatArray, action_space, checked_actions, fields_table, observation_space


class NdmEnv(gymnasium.Env[FloatArray, FloatArray]):
    """A sender of the Linux TCP stack in a virtual lab; the agent is its congestion control.

    ## Description
    A bulk transfer crosses a network path of Mininet and netem: bottleneck, buffer, random loss, jitter. At the end of
    each control interval (a packet-timed round trip, at least 1 ms) the kernel module tcp_ndm_gym reports its
    measurements and waits for a decision; virtual time stands still meanwhile. Each episode has another path, drawn
    from the profile.

    ## Action
    A `Box`, float32. Values outside the limits are clipped.

    {actions}

    ## Observation
    A `Box`, float32: dimensionless, computed in the kernel in fixed point (steps of 2**-12). Each array is new.

    {inputs}

    ## Reward
    The weighted sum of these terms. env/reward.py has the formulas, the profile the weights. The reference is the
    flow's fair share of what the path carries in the interval (env/reference.py). Other learners of the profile do not
    run.

    {reward terms}

    ## Info
    `reward/NAME` (each weighted term of the reward), `goodput_mbps`, `goodput_share` (of the reference), `rtt_ms` (mean
    of the interval), `queueing_delay_ms`, `loss_rate` (retransmitted share, 0 to 1), `cwnd` (packets), `now_us`,
    `interval_us`, and `path`: env.profile.PATH_FEATURES, [8]. reset() returns only `path`, `cwnd` and `now_us`.

    ## Start
    A new connection over a path of the profile, or of `options`: `{"scenario": "stress"}` or
    `{"path": {"rate_mbps": 20, "rtt_ms": 40}}`. The first observation is that of the first round trip.
    `reset(seed=...)` boots the lab anew with that seed: the same seed and actions give the same trajectory. Without a
    seed the lab keeps running and only the path changes.

    ## End
    Never terminated: a transfer has no natural end. Truncated after `episode_decisions`, after `episode_s` of virtual
    time, or when the flow has stalled until the end of the run, whichever comes first.

    ## Arguments
    | name | default | meaning |
    |---|---|---|
    | profile | "mixed" | a name in configs/profile, the path of a .yaml file, or an env.profile.Profile |
    | episode_decisions | the profile's | decisions in an episode |
    | episode_s | the profile's | virtual seconds in an episode |
    | boot | env.gym.episode.boot_lab | boots a lab with a seed |

    Raises UserError for an argument; env.lab.LabError from reset() and step() when the lab
    is missing or fails.

    ## Version history
    * v1: The reference of the reward follows the path over time: rate steps, traces and flows that start later change
      the fair share when they happen. v0 used the first rate (with the frames' headers), the trace's mean rate and all
      flows of the episode from its start. `path` in `info` no longer counts the profile's other learners, which do not
      run.
    * v0: Initial version
    """

    metadata: ClassVar[dict[str, Any]] = {"render_modes": []}  # type: ignore[misc]

    def __init__(
        self,
        profile: str | Profile = "mixed",
        episode_decisions: int | None = None,
        episode_s: float | None = None,
        boot: BootLab = boot_lab,
        render_mode: None = None,
    ) -> None:
        self.observation_space = observation_space()
        self.action_space = action_space()
        self.render_mode = render_mode
        self.episode = Episode(profile, episode_decisions, episode_s, boot)
        self._active = False

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[FloatArray, dict[str, Any]]:
        """Begin an episode; return the first observation [D] and info: `path`, `cwnd`, `now_us`."""
        super().reset(seed=seed)
        self._active = False
        self.episode.begin(self.np_random, seed, options)
        first = self.episode.receive_first()
        self._active = True
        info = {"cwnd": first.cwnd, "now_us": first.now_us, "path": self.episode.path_features.copy()}
        return np.array(first.features, np.float32) * FEATURE_SCALE, info

    def step(self, action: FloatArray) -> tuple[FloatArray, float, bool, bool, dict[str, Any]]:
        """Take action [A]; return observation [D], reward, False, truncated and info, one interval later."""
        if not self._active:
            raise gymnasium.error.ResetNeeded("step() outside of an episode: call reset()")
        growth, pacing = checked_actions(action, self.action_space).tolist()
        self.episode.act(growth, pacing)
        interval = self.episode.receive()
        self._active = not interval.over
        info: dict[str, Any] = dict(zip(INFO, interval.numbers(), strict=True))
        info["path"] = self.episode.path_features.copy()
        observation = np.array(interval.features, np.float32) * FEATURE_SCALE
        return observation, interval.reward, False, interval.over, info

    def close(self) -> None:
        """End the lab. Safe to call twice."""
        self._active = False
        self.episode.close()


if NdmEnv.__doc__:  # python -OO strips it
    for _place, _table in (
        ("{actions}", fields_table(ACTIONS)),
        ("{inputs}", fields_table(FEATURES)),
        ("{reward terms}", terms_table()),
    ):
        NdmEnv.__doc__ = NdmEnv.__doc__.replace(_place, _table.replace("\n", "\n    "))
