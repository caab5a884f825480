"""Facts about models, GPUs and engines, as data with sources. Imports nothing of the rest of the project."""
