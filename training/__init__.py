"""Training: the policy, recurrent PPO, checkpoints and learning curves."""
