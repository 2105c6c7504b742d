"""Tops: what is generated as Verilog. A top only wires components up."""
