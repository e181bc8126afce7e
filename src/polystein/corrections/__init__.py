"""Expectations under the target, corrected by the same Stein features that test the draws.

The room is still empty.
"""
