"""Tests of results and their evidence."""
