"""Draws and scores, from the door to blocks of rows.

Input is validated here, read in blocks, split into training and test rows, standardised, and
screened for rows that cannot be what they are said to be. No Stein features are computed here.
"""
