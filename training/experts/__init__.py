"""Recordings of the kernel's congestion controls (experts), and imitation of them by the policy."""
