"""Documents by themselves."""
