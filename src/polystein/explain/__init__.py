"""Effect sizes: which moment of which parameter is off, by how much, and whether it matters.

The sums come from `stein` and `corrections`, the tests from `methods`. The room is still empty.
"""
