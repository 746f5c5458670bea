"""The clock of all measuring and waiting."""

from __future__ import annotations

import time

#: Seconds, from any start; it never goes back.
CLOCK = time.monotonic
