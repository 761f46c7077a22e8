"""How true the lab is: its network, its repeatability, Mininet scripts, real time."""
