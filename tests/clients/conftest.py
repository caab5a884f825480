from __future__ import annotations

import os

# These need large packages of their own: `make e2e` runs them.
collect_ignore_glob = [] if os.environ.get("E2E") else ["test_*.py"]
