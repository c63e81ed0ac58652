"""The validation of batches: (X, y) or (X, y, weight) become `Rows`, and errors name the batch."""

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from sparselin.neural.training import Rows


class Border(NamedTuple):
    """The requirements that every batch must meet, and the conversion of a batch to `Rows`.

    width : the number of entries of a row of X.
    dtype : the dtype of the network, to which X is converted.
    device : the device to which X, y and the weights are moved.
    integers : whether integers in X stay integers.
    labels : whether y holds class numbers.
    """

    width: int
    dtype: torch.dtype
    device: torch.device
    integers: bool
    labels: bool

    def rows(self, batch: Any, number: int, entries: bool = True) -> Rows:
        """Return the checked batch as `Rows`.

        number : the number of the batch, from 1, for the messages.
        entries : whether to check X for NaN and infinity.

        Raises TypeError or ValueError if the batch is not a pair or a triple or is empty; if a row has
        another width, or if there is not one target and one weight for each row; if entries are NaN or
        infinite; if weights are negative; or if labels are not integers.
        """
        name = f"batch {number}"
        batch = (batch.X, batch.y, batch.weight) if isinstance(batch, Rows) else batch
        parts = tuple(batch) if isinstance(batch, (tuple, list)) else ()
        if not 2 <= len(parts) <= 3:
            kind = type(batch).__name__ + (f" of {len(parts)}" if parts else "")
            raise TypeError(
                f"{name} must be (X, y) or (X, y, weight); got {kind}. [(X, y)] has all rows in one batch"
            )
        X = self._design(as_tensor(parts[0], f"X of {name}", finite=False), name)
        y = as_tensor(parts[1], f"y of {name}", finite=False)
        weight = parts[2] if len(parts) == 3 else None
        if entries:
            self.check_entries(X, number)
        if y.shape[:1] != (len(X),):
            raise ValueError(
                f"y of {name} must have an entry for each of {len(X)} rows; got {tuple(y.shape)}"
            )
        if self.labels and y.is_floating_point():
            raise TypeError(f"y of {name} must hold class numbers, which are integers; got {y.dtype}")
        y = y.to(self.device, torch.long) if self.labels else y.to(self.device)
        if y.is_floating_point():
            y = y.to(self.dtype)
            _check_finite(y, f"y of {name}")
        return Rows(X, y, None if weight is None else self._weight(weight, len(X), name))

    def check_entries(self, X: Tensor, number: int) -> None:
        """Raise ValueError if X has NaN or infinite entries."""
        if X.is_floating_point():
            _check_finite(X, f"X of batch {number}")

    def check_labels(self, y: Tensor, output: Tensor, number: int) -> None:
        """Raise ValueError if y is not (b,), or a label is not in 0, …, q − 1 for outputs (b, q)."""
        if self.labels:
            if y.ndim != output.ndim - 1:
                raise ValueError(
                    f"y of batch {number} must hold one class for each row; got shape {tuple(y.shape)} with "
                    f"outputs {tuple(output.shape)}. Pass y.ravel() for a column, y.argmax(1) for one-hot y"
                )
            n_classes = output.shape[1]
            if n_classes < 2:
                raise ValueError("network must have an output for each of at least two classes; got 1 output")
            low, high = (int(bound) for bound in torch.aminmax(y))
            if low < 0 or high >= n_classes:
                raise ValueError(
                    f"y of batch {number} must hold classes in 0..{n_classes - 1}, because the network has "
                    f"{n_classes} outputs; got {low if low < 0 else high}"
                )

    def _design(self, X: Tensor, name: str) -> Tensor:
        """Return X on the device and in the dtype of the network, after checking its shape."""
        if X.ndim < 2:
            raise ValueError(f"X of {name} must have a row for each example; got shape {tuple(X.shape)}")
        if not len(X):
            raise ValueError(f"{name} must have rows; it is empty. Leave out empty batches")
        if X[0].numel() != self.width:
            raise ValueError(
                f"X of {name} must have {self.width} features in each row; got shape {tuple(X.shape)}"
            )
        kept = self.integers and not X.is_floating_point()
        return X.to(self.device, X.dtype if kept else self.dtype)

    def _weight(self, weight: Any, n: int, name: str) -> Tensor:
        """Return the weights on the device and in the dtype of the network, after checking them."""
        weight = as_tensor(weight, f"weight of {name}", finite=False)
        if weight.shape != (n,):
            raise ValueError(
                f"weight of {name} must have shape ({n},), one for each row; got {tuple(weight.shape)}"
            )
        weight = weight.to(self.device, self.dtype)
        _check_finite(weight, f"weight of {name}")
        if bool((weight < 0).any()):
            raise ValueError(
                f"weight of {name} must be nonnegative; the least entry is {float(weight.min())}"
            )
        return weight


def check_repeatable(batches: Any) -> None:
    """Raise TypeError unless `batches` can be passed through repeatedly. X and iterators are refused."""
    if isinstance(batches, Tensor) or hasattr(batches, "__array__"):
        kind = type(batches).__name__
        raise TypeError(f"batches must be a DataLoader or a list of (X, y), such as [(X, y)]; got one {kind}")
    if isinstance(batches, Iterator) or not isinstance(batches, Iterable):
        raise TypeError(
            "batches must be iterable more than once, like a list or a DataLoader; got "
            f"{type(batches).__name__}. Pass an iterator to fit_stream"
        )


def check_modules(network: Any, optimizer: Any, inputs: Any) -> None:
    """Raise TypeError unless network and inputs are modules and optimizer is a function."""
    if inputs is not None and not isinstance(inputs, nn.Module):
        raise TypeError(f"inputs must be a torch.nn.Module, such as EmbeddedColumns, or None; got {inputs!r}")
    if not isinstance(network, nn.Module):
        raise TypeError(f"network must be a torch.nn.Module, not a class or a function; got {network!r}")
    if not callable(optimizer):
        raise TypeError(
            "optimizer must be a function that makes an optimiser from parameters, because the mask has "
            "parameters too, for example torch.optim.Adam or lambda p: torch.optim.Adam(p, lr=0.01); got "
            f"{type(optimizer).__name__}"
        )


class Shuffled:
    """Rows in batches of a given size, in a new random order in each pass.

    `Rows.cuts` determines where the batches begin. The order comes from PyTorch's global random numbers,
    which the methods seed (`training.seeded`).

    >>> len(Shuffled(Rows(torch.ones(10, 2), torch.ones(10)), 4))
    3
    """

    def __init__(self, rows: Rows, size: int | None) -> None:
        self._rows, self._size = rows, size

    def __len__(self) -> int:
        return len(self._rows.cuts(self._size)) + 1

    def __iter__(self) -> Iterator[Rows]:
        return self._rows.batches(self._size, torch.default_generator)


def as_tensor(data: Any, name: str, finite: bool = True) -> Tensor:
    """Return the data as a tensor of real numbers, which shares memory with an array if possible.

    An array is copied in two cases: it has negative strides, which PyTorch does not accept, or it is
    read-only (like the data of frames), for which PyTorch would print a warning.

    finite : whether to check that all entries are finite.
    """
    if hasattr(data, "toarray"):
        raise TypeError(f"{name} must be dense; got {type(data).__name__}. Pass {name}.toarray()")
    if not isinstance(data, Tensor):
        try:
            array = np.asarray(data)
        except ValueError as error:
            raise ValueError(f"{name} must be a rectangular array of numbers: {error}") from None
        if array.dtype.kind not in "fiub":
            raise TypeError(f"{name} must be numeric; got dtype {array.dtype}. Encode classes as 0, 1, …")
        usable = array.flags.writeable and min(array.strides, default=0) >= 0
        data = torch.from_numpy(array if usable else array.copy())
    if data.is_complex():
        raise TypeError(f"{name} must be real; got dtype {data.dtype}")
    if finite:
        _check_finite(data, name)
    return data.detach()


def _check_finite(values: Tensor, name: str) -> None:
    """Raise ValueError if an entry is NaN or infinite.

    The sum of the entries is checked first, because this is cheap. If it is finite, so are all entries.
    Otherwise every entry is checked, because the sum may have overflowed.
    """
    if bool(torch.isfinite(values.sum())):
        return
    wrong = torch.nonzero(~torch.isfinite(values))
    if len(wrong):
        raise ValueError(
            f"{name} must be finite; got {len(wrong)} NaN or infinite entries, the first at "
            f"{tuple(wrong[0].tolist())}. Drop or impute them first"
        )
