"""Other libraries' objects turned into a `Sample`: one file for each library.

A file imports its library when a function is called, never before. Only draws, scores, names and
facts come out; nothing is tested or summed here.
"""
