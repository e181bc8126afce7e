"""Settings that all tests share. The helpers of `tests.rows` can be imported from here, too."""

from hypothesis import settings

from tests.rows import Array, RecordingSplit, arbitrary_rows, arbitrary_weights, row_numbers

__all__ = ["Array", "RecordingSplit", "arbitrary_rows", "arbitrary_weights", "row_numbers"]

# The same examples in every run, on fast machines and slow ones, few enough for the fast tests, and
# no files left behind.
settings.register_profile(
    "polystein", max_examples=40, deadline=None, derandomize=True, database=None
)
settings.load_profile("polystein")
