"""Tests of `check` and its parts."""
