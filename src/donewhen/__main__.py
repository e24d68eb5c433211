"""`python -m donewhen` is the same as `donewhen`."""

from donewhen.ui.cli import main

if __name__ == "__main__":
    main()
