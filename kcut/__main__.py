"""`python -m kcut` is `kcut`."""

from kcut.cli import main

if __name__ == "__main__":
    main()
