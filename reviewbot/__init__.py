"""A linter and reviewer for repositories that benchmark LLM inference."""

__version__ = "0.1.0"
