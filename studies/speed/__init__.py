"""How fast the environment, the lab and its runs are, also beside older revisions."""
