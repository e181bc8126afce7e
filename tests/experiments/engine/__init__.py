"""Tests of cells, the runner, the store and the summaries."""
