"""From a trained float policy to int16: the kernel's header, ONNX, golden vectors, and the proof that they agree."""

import env  # noqa: F401 - before any package that may be missing: env/command.py
