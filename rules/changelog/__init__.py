"""What the performance changelog says against what a change does."""
