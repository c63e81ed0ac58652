"""The errors and warnings of calls, and their words."""

import pytest


def interrupt(*_, **__):
    """Raise KeyboardInterrupt, in the place of a function that Ctrl-C ends."""
    raise KeyboardInterrupt


def refuses(words, call, *arguments, error=ValueError, **options):
    """Assert that a call raises an error whose message matches the words."""
    with pytest.raises(error, match=words):
        call(*arguments, **options)


def warns(words, call, *arguments, category=UserWarning, **options):
    """Assert that a call warns with a message that matches the words; return its result."""
    with pytest.warns(category, match=words):
        return call(*arguments, **options)
