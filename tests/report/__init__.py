"""Tests of what a result looks like."""
