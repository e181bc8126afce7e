"""The guard: is this input what it is taken for? All checks of draws and scores live here.

`chains` looks at axes and at chains that are stuck, `rows` at repeats, weights and single draws,
`pairing` at whether scores belong to the draws beside them, and `scores` at their values.
"""
