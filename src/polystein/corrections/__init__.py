"""Expectations under the target, corrected by the same Stein features that test the draws.

Designs say which features explain which functions. Sums over rows come from passes, fits and
influence functions work on them, and `expectations` puts them together. What is wrong with the
sampler, and whether it matters, is said in `explain`.
"""
