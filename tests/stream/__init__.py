"""Components of the streams in simulation."""
