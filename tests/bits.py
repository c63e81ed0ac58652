"""The bits of a result, for tests that two results are the same to the last bit."""

import dataclasses

import numpy as np


def bits(value):
    """Return all numbers of a result, or of nested tuples of results, as bytes."""
    if dataclasses.is_dataclass(value):
        return [bits(getattr(value, field.name)) for field in dataclasses.fields(value)]
    if isinstance(value, (tuple, list)):
        return [bits(part) for part in value]
    if isinstance(value, np.ndarray) and value.dtype != object:
        return value.dtype.str, value.tobytes()
    return repr(value)
