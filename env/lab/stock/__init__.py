"""Labs with stock kernels, in real time: a distribution's kernel under QEMU, and this machine's own."""
