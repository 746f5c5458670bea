"""The clock for all measurements and waits."""

from __future__ import annotations

import time

#: Seconds since an arbitrary point; never decreases.
CLOCK = time.monotonic
