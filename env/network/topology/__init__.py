"""Builds networks with Mininet: paths, racks, and the tc commands of their links."""
