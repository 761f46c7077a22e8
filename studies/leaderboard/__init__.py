"""The leaderboard: every scheme on every target, docs/results/leaderboard.md."""
