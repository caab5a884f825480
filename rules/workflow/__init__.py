"""GitHub Actions workflows: what they call, name and pass on."""
