"""The files of an exported model: C header, firmware blob, ONNX, golden vectors."""
