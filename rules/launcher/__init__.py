"""What launchers do to recipes and points."""
