"""A second opinion from the target itself: short runs that leave it invariant, before and after.

A `Target` and rows come in. Kernels, pilots, paired differences and the public `refine` live here.
Nothing here looks at Stein features, and no report is written here.
"""
