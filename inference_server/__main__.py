"""``python -m inference_server``."""

import os

# How long an OpenMP thread spins at a barrier before it sleeps. The default makes a step many times as slow as soon as
# one neighbour is busy; very short spinning makes every step slower. On two cores 3000 is level with the default when
# idle, and twice the idle time with one core busy. It only counts before PyTorch is imported, as the next line does.
os.environ.setdefault("GOMP_SPINCOUNT", "3000")

from inference_server.cli import main

if __name__ == "__main__":
    main()
