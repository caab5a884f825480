"""What a repository asks of its contributors; the values are settings (`policy`)."""
