"""The parts of `polystein.check`, the one test that needs no tuning.

`check` has four arms that share the level: sign flips of batch sums over all rows, witnesses that
are trained on some rows and judged on others, a comparison of the chains with each other, and a
kernel net under everything. `statistics` has the table of all that is looked at.
"""
