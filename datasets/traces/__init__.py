"""Link traces in Mahimahi's format: how they are read, what is known of them, and how these were made."""
