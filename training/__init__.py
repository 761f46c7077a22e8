"""Training: the policy, the learners, their sampling, and the run's folder."""

import env  # noqa: F401 - before any package that may be missing: env/command.py
