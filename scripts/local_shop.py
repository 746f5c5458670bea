#!/usr/bin/env python3
"""Serves a small shop on loopback whose pages exist only after their scripts ran (docs/rendering.md).

scripts/local_shop.py [--port 8090] [--pages 12]
"""

from __future__ import annotations

import sys
from contextlib import suppress
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from testbed.bench import command_line
from testbed.shop import Shop


def main() -> None:
    options = command_line(__doc__, port=8090, pages=12).parse_args()
    shop = Shop("127.0.0.1", options.port, options.pages)
    print(shop.url, flush=True)
    with suppress(KeyboardInterrupt):
        shop.serve_forever()


if __name__ == "__main__":
    main()
