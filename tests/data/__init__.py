"""Where test data lie: those of the project here, those of real sites beside some checkouts."""

from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
#: Not part of the project; see README.md.
REAL = HERE.parents[2] / "shared" / "data"


def vector(name: str) -> Path:
    """A file or folder of test vectors; the test is skipped where only ``REAL`` would have it and is not there."""
    return HERE / name if (HERE / name).exists() else real(f"vectors/{name}")


def real(name: str) -> Path:
    """A file of the real web data; the test (mark it ``long``) is skipped where they are not beside the checkout."""
    path = REAL / name
    if not path.exists():
        pytest.skip(f"the real web data are not there: {path}")
    return path
