"""What a call refuses, and with which words."""

import pytest


def refuses(words, call, *arguments, error=ValueError, **options):
    """Assert that a call raises an error whose message matches the words."""
    with pytest.raises(error, match=words):
        call(*arguments, **options)
