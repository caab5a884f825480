"""Effective runs: what every point finally is."""

from reviewbot.runs.collect import build_runs

__all__ = ["build_runs"]
