"""The parts of `polystein.check`, the one test that needs no tuning.

`check` calls three tests, its arms: sign flips of batch sums over all rows, witnesses that are
trained on some rows and judged on others, and a comparison of the chains with each other.
"""
