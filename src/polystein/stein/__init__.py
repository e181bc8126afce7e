"""The Stein operator on a basis of test functions: features, their moments, and the witness.

Blocks of rows come in, Stein features and sums of them go out. `operator` is the only file that
knows the feature map Phi_i. Weights and p-values are found elsewhere.
"""
