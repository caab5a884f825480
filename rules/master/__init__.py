"""Rows of the masters against the runs they describe."""
