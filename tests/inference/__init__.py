"""Tests of the statistics on plain arrays."""
