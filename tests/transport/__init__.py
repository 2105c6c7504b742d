"""The transport, gateware and reference, through channels that lose and disorder."""
