"""Teachers: recordings of the kernel's own congestion controls as NDM would have seen and done it."""
