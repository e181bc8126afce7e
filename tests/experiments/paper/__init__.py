"""Tests of the paper's experiments and their published figures."""
