"""What comments and names say against what is."""
