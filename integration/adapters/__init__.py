"""Against the real libraries of Python."""
