"""The weights lambda: rules that maximise the signal-to-noise ratio, and finer resolutions.

A rule sees the mean and covariance of features, and never a row.
"""
