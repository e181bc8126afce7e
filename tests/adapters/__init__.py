"""Tests of the adapters that need no other library."""
