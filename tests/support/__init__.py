"""What the benches of components share."""
