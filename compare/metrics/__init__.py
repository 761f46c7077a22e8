"""What the stored files of a run say: a number for each metric."""
