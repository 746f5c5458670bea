#!/usr/bin/env python3
"""Serves an emulated web on loopback: hundreds of servers with own addresses, speeds and behaviour, and a precise log.

scripts/local_web.py serve --servers 500 --pages 30000 --seed 1 --log access.tsv --scores scores.tsv
scripts/local_web.py shop                    # pages that exist only after their scripts ran (docs/rendering.md)
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from testbed.web.cli import main

if __name__ == "__main__":
    sys.exit(main())
