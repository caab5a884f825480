"""The rules, in families; imported as ``reviewbot.rules``."""
