"""The memory that a call takes."""

import tracemalloc


def peak_memory(call, *arguments, **options):
    """Return the most bytes that were allocated at one time during a call."""
    tracemalloc.start()
    try:
        call(*arguments, **options)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
