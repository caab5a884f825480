"""Text programs of the shell without any shell: patterns, regular expressions, ``sed``, ``awk``. Pure functions of their input."""
