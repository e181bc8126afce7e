"""Long statistical studies; their tables are committed beside them."""
