"""Statistics on plain NumPy arrays: means, autocorrelation, long-run variances, p-values.

Columns of numbers come in, sometimes with the lengths of the chains that they belong to. Nothing
here reads rows from a source or knows what a score is.
"""
