"""``python -m inference_server``."""

import os

# Idle OpenMP threads spin by default; with one busy neighbour on the machine a step then takes many times as long.
# It only counts before PyTorch is imported, which the command line does.
os.environ.setdefault("GOMP_SPINCOUNT", "1000")

from inference_server.cli import main

if __name__ == "__main__":
    main()
