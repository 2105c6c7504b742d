"""Components of the codec in simulation, against the golden model."""
