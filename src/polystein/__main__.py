"""``python -m polystein`` runs the command line."""

from polystein.cli import main

if __name__ == "__main__":
    main()
