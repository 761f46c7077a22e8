"""Training: the policy, the learners, their sampling, and the run's folder."""
