"""``python -m app`` is ``recount``."""

from app.cli import main

if __name__ == "__main__":
    main(prog_name="recount")
