"""Proofs of the stream parts, for all inputs and for all time.

The engine is property directed reachability, which needs no help from inside of a design, as
induction would: only ports are looked at. What is proved is the design that is given, so depths
are small, and of a payload only some bits are followed; sizes are what simulation is for.
"""
