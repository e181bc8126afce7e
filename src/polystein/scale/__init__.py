"""Rows that do not fit into memory or onto one core: further sources and executors.

A source serves blocks of rows (`polystein.data.source`), an executor runs a pass over them
(`polystein.data.passes`). No mathematics lives here.
"""
