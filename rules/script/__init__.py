"""What bench scripts do with what they are given."""
