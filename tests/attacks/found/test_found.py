"""Designs on which attacks found wrong answers; the words in each file are what was wrong."""

import pytest

from ..attacks import stands
from ..run import FOUND, read


@pytest.mark.parametrize("path", sorted(FOUND.glob("*.json")), ids=lambda path: path.stem)
def test_found(path):
    stands(read(path))
