"""The codec: float32 in, records out, and back."""
