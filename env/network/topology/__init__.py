"""The networks that Mininet builds: a path, a rack, and the tc commands of their links."""
