"""Several samples or runs together: comparing samplers, checking many fits, watching a sampler.

Every verdict is one of `methods`. The room is still empty.
"""
