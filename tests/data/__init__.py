"""Tests of what comes in: sources, passes, splits, frames and screens."""
