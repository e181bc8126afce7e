"""Effect sizes: which moment of which parameter is off, by how much, and whether it matters.

A quick look decides what is worth a closer one, `corrections` measures it, and multiplicity is
allowed for here. Words for what was found, and hints what to do, come last.
"""
