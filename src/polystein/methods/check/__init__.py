"""The parts of `polystein.check`, the one test that needs no tuning.

`check` calls two tests: sign flips of batch sums over all rows, and witnesses that are trained on
some rows and judged on others.
"""
