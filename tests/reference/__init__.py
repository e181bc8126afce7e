"""Literal, slow transcriptions of the paper, which the fast code has to equal."""
