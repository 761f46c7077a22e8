"""The plan of a comparison, and how its runs are made and stored."""
