"""TCP-NV beside the tables and claims of its paper."""
