"""Tests of the weights lambda."""
