"""Networks: paths and scenarios (host and guest), topology, links and traffic (guest)."""
