"""Link traces in Mahimahi's format: datasets/traces, how they were made, and their reader."""
