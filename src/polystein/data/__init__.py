"""Draws and scores, from the door to blocks of rows.

Input is validated here, read in blocks, split into training and test rows, standardised, and
screened for rows that contradict what is said about them. No Stein features are computed here.
"""
