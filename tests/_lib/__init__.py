"""Tests of the tools that know nothing of draws."""
