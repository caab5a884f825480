"""Texts with ``${{ }}`` of a workflow, compiled once and evaluated for many rows.

Plain look-ups (``${{ inputs.x }}``, ``matrix.config['a-b'].name``) are walked directly; every other expression is left to the
expression evaluator and remembered by the values that it reads.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Mapping
from typing import Any

