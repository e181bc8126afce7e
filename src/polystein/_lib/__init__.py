"""Tools that know nothing of draws or targets: arrays, random streams, checks of options, files.

Any room may use them. What belongs to one room alone lives in that room.
"""
