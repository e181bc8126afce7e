"""Several samples, runs or targets together: many fits, two targets, a sampler at work.

`many` checks fits one by one and adjusts their p-values for each other. `monitor` takes draws as
they come and looks at them at times fixed in advance. Sums, test functions and p-values are those
of the rooms before. `same_target` compares two targets; `parameters` and `transforms` map their
coordinates, and `score_patterns` names what differs.
"""
