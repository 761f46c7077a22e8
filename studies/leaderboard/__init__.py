"""The leaderboard: every scheme on every target, docs/results/results.md."""
