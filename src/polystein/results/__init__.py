"""What a test returns: the verdict, and the evidence that it rests on.

Results are data. They are computed in `methods` and `rivals` and shown by `report`.
"""
