"""What is compared, and how its runs are made and stored."""
