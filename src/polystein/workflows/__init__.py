"""Several samples or runs together: comparing samplers, checking many fits, watching a sampler.

`many` checks fits one by one and adjusts their p-values for each other.
`monitor` takes draws as they come and looks at them at times fixed in advance. Nothing here has
formulas of its own: sums, test functions and p-values are those of the rooms before.
"""
