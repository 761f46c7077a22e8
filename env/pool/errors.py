"""The error of a Ray cluster."""

from env.lab import LabError


class ClusterError(LabError):
    """Ray is missing, a cluster cannot be reached, or a node has other files; the message names the remedy."""
