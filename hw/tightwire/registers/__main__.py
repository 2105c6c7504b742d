"""``python -m tightwire.registers`` prints docs/registers.md."""

import sys

from .page import page

if __name__ == "__main__":
    sys.stdout.write(page())
