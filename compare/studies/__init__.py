"""Studies of the project itself: its cost, its validity, its ablations. Nothing imports them."""
