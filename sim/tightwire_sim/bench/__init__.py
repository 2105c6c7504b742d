"""Benches of the tops: cocotb tests, what they are made of, and how they are built and run.

``runner`` builds a simulation and runs a bench (``tb_*``) in it, in a process of its own;
``context`` is the bench's side of that. ``drivers`` moves beats, ``protocol`` watches the rules.
"""
