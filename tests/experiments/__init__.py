"""Tests of the experiments and their published figures."""
