"""Several samples, runs or targets together: many fits, two targets, a sampler at work.

`many` checks fits one by one and adjusts their p-values for each other. `monitor` takes draws as
they come and looks at them at times fixed in advance. Sums, test functions and p-values are those
of the rooms before. `same_target` compares two targets: `target_inputs` reads them, `parameters`
and `transforms` map their coordinates, `two_targets` evaluates both, and `score_patterns` and
`reparametrised` name what differs.
"""
