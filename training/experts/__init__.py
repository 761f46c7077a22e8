"""Recordings of the kernel's own algorithms, and a policy that begins as they would act."""
