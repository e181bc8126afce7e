"""Hostile calls of everything that is public, and what must hold whatever is passed.

A call is Python source, `ps.psd_test(rows((40, 2), scale=1e307), minus, order=2)`, so that a
failure is reproduced by pasting it. The names in it come from `makers`, `scores` and `files`. What
each function is called with is in `calls`, with the values of its options in `options`; `judge`
evaluates a call and says what is wrong with its outcome.
"""
