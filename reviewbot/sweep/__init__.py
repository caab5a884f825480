"""The runner: executes points whose receipt holds, and only those."""
