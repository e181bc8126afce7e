"""Tests against other people's packages; ``pip install -e '.[test,integration]'`` first."""
