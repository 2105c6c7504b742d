"""What turns the gateware into files and figures: Verilog, lint, synthesis, the report."""
