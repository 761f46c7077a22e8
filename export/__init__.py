"""From a trained float policy to int16: the kernel's header, ONNX, golden vectors, and the proof that they agree."""
