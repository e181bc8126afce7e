"""Twenty faults of draws, and what `check` says of them: `python -m examples.gallery`."""
