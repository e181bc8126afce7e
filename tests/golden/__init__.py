"""Golden results: what some 200 calls gave when they were recorded, and whether they still do.

`cases.py` is the table of calls, `inputs.py` makes their draws, `results.json` has the answers.
``python -m tests.golden`` shows what changed, and ``python -m tests.golden --renew`` records it.
They say only that results did not change. That they are right is shown by the other tests.
"""
