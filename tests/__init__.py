"""Tests of polystein."""
