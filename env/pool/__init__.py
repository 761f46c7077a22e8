"""Labs side by side, on this machine or a Ray cluster, and what happens when one fails."""
