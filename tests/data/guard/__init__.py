"""Tests of the guard: axes, chains, rows, pairs of draws and scores, values of scores."""
