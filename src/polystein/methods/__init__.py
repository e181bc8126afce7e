"""The public tests and discrepancies, assembled from the other rooms.

A method reads like the paper's algorithm. Its formulas live in `stein`, `weights` and `inference`.
"""
