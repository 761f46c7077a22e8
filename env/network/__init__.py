"""Networks. Paths, racks and scenarios are for host and guest; topology, links and traffic run in the guest."""
