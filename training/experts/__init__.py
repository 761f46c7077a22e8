"""Records the kernel's congestion controls (experts), and trains the policy to imitate them."""
