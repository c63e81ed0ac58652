"""Sequential Attention on Criteo's logs of clicks, in one pass through a file that one brings.

    for record in records("day_0.gz", Settings(rows=10_000_000)):
        print(record.piece.k, record.scores)

Figure 4 and Tables 7, 8 of *Sequential Attention*. **Which data that is.** The paper cites Diemert et al.
(2017), Criteo's attribution data: 16 million rows, and no 39 features. What it describes are the Click Logs
of 24 days (1 TB): 13 counts, 26 categories, more than 3 billion rows. Its Tables 7 and 8 agree: the
generalized LASSO with λ = 10⁻⁴ has AUC 0.50 at k = 5 and a log loss of 0.14519, which is the entropy of a
constant chance p for p = 3.3 %. In Kaggle's Display Advertising sample, of the same layout, a quarter of the
rows are clicks, which has an entropy of 0.57.

UCI 240, the Activity that the released code downloads, is not here either, and needs no stream: with its four
files in SPARSELIN_DATA/activity (`data.table`) it is one more data set of the studies. It has other rows than
the papers' Activity, with which it is not compared.
"""

from __future__ import annotations

import contextlib
import dataclasses
import gzip
import itertools
import time
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.metrics import log_loss, roc_auc_score
from torch import Tensor, nn

from proofs_checks.experiments.networks.pieces import Piece, Record
from sparselin.neural.attention import SequentialAttention
from sparselin.neural.embeddings import EmbeddedColumns
from sparselin.neural.networks import mlp
from sparselin.neural.training import Plan, Rows, backward, cross_entropy, seeded
from sparselin.validation import check_count

SIZES = (5, 10, 15, 20, 25, 30, 35)
"""The k of Tables 7 and 8."""

Batch = tuple[Tensor, Tensor]


class MalformedLine(ValueError):
    """A line that is not of the layout; `number` counts from 1."""

    def __init__(self, path: Path, number: int, fault: str) -> None:
        super().__init__(f"{path} must hold whole lines of its layout; line {number}: {fault}")
        self.number = number


class Layout(NamedTuple):
    """The fields of a tab-separated line, by their numbers; a missing value is an empty field.

    fields : how many; the first line is a header if `header`.
    label : 0 or 1.
    counts, categories : the columns that are features, in this order.
    """

    fields: int
    label: int
    counts: tuple[int, ...]
    categories: tuple[int, ...]
    header: bool = False

    @property
    def columns(self) -> int:
        """Features, p."""
        return len(self.counts) + len(self.categories)


CLICKS = Layout(40, 0, tuple(range(1, 14)), tuple(range(14, 40)))
"""Click Logs and Display Advertising: label, 13 counts, 26 categories; no header."""

ATTRIBUTION = Layout(22, 7, (10, 12), (2, *range(13, 22)), header=True)
"""Diemert et al. (2017): timestamp, uid, campaign, conversion, conversion_timestamp, conversion_id,
attribution, click, click_pos, click_nb, cost, cpo, time_since_last_click, cat1, …, cat9. The features are
cost, time_since_last_click, campaign and the nine categories; the rest is known after the click only."""


@dataclasses.dataclass(frozen=True)
class Settings:
    """How a network for clicks is trained; the paper tells `hidden` (Appendix B.3), the others are ours.

    Attributes
    ----------
    layout : of the file.
    buckets : into which the categories of each column are hashed.
    dimension : of the embedding of a category.
    hidden : widths of the layers.
    batch_size, learning_rate : of Adam.
    test_every : each row whose number is a multiple is held out.
    test_rows : at most so many rows are scored, the first of those held out: their predictions are kept in
        memory.
    rows : the first so many rows of the file are used; None for all, which are counted first.
    """

    layout: Layout = CLICKS
    buckets: int = 10_000
    dimension: int = 8
    hidden: tuple[int, ...] = (768, 256, 128)
    batch_size: int = 1024
    learning_rate: float = 1e-3
    test_every: int = 10
    test_rows: int = 1_000_000
    rows: int | None = None


def batches(path: Path | str, settings: Settings, test: bool = False) -> Iterator[Batch]:
    """(X, y) of the training rows of a file, or of those held out; no more than a batch is in memory.

    X (b, p) float32: counts as sign(c)·log(1 + |c|), 0 where missing; categories as the number of their
    bucket, the one of the empty field where missing. y (b,) holds 0 and 1. The last batch may be smaller.

    path : of a file, plain or gzip, whatever its name.

    Raises
    ------
    MalformedLine : another number of fields, a label that is not 0 or 1, a count that is no finite number, or
        a gzip file that ends too early; after the batches before it.
    OSError : the file cannot be read.
    TypeError, ValueError : settings out of their range.
    """
    layout, size = settings.layout, check_count(settings.batch_size, "batch_size", 1)
    buckets = check_count(settings.buckets, "buckets", 1, 2**24)  # whole numbers in float32
    every = check_count(settings.test_every, "test_every", 2)
    chosen = (
        (number, line)
        for i, (number, line) in enumerate(itertools.islice(_lines(Path(path), layout), settings.rows), 1)
        if (i % every == 0) is test
    )
    while part := list(itertools.islice(chosen, size)):
        X, y = np.empty((len(part), layout.columns), np.float32), np.empty(len(part), np.int64)
        for i, (number, line) in enumerate(part):
            try:
                y[i] = _parsed(line, layout, buckets, X[i])
            except ValueError as error:
                raise MalformedLine(Path(path), number, str(error)) from None
        numbers = X[:, : len(layout.counts)]
        np.multiply(np.sign(numbers), np.log1p(np.abs(numbers)), out=numbers)
        yield torch.from_numpy(X), torch.from_numpy(y)


def _parsed(line: bytes, layout: Layout, buckets: int, out: NDArray[np.float32]) -> int:
    """The label; counts and buckets go to `out`. ValueError says what is wrong."""
    fields = line.rstrip(b"\r\n").split(b"\t")
    if len(fields) != layout.fields:
        raise ValueError(f"{layout.fields} fields separated by tabs are expected, got {len(fields)}")
    label = fields[layout.label]
    if label not in (b"0", b"1"):
        raise ValueError(f"the label, field {layout.label + 1}, must be 0 or 1, got {label!r}")
    n = len(layout.counts)
    try:
        out[:n] = [float(fields[j] or 0) for j in layout.counts]
    except ValueError as error:
        raise ValueError(f"a count is no number: {error}") from None
    if not np.isfinite(out[:n]).all():
        raise ValueError("a count is not finite")
    out[n:] = [zlib.crc32(fields[j]) % buckets for j in layout.categories]
    return int(label)


def _lines(path: Path, layout: Layout) -> Iterator[tuple[int, bytes]]:
    """The lines with their numbers, from 1; without the header."""
    number = 0
    with path.open("rb") as raw, contextlib.ExitStack() as stack:
        packed = raw.read(2) == b"\x1f\x8b"
        raw.seek(0)
        file: Any = stack.enter_context(gzip.open(raw)) if packed else raw
        try:
            for number, line in enumerate(file, 1):
                if number > 1 or not layout.header:
                    yield number, line
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise MalformedLine(path, number + 1, f"gzip: {error}. Fetch the file again") from None


def count_rows(path: Path | str, settings: Settings) -> int:
    """Rows that are used of a file; it is read once, and not parsed."""
    lines = itertools.islice(_lines(Path(path), settings.layout), settings.rows)
    return sum(1 for _ in lines)


def _columns(settings: Settings, S: Sequence[int]) -> EmbeddedColumns:
    """Those of the columns S: counts as they are, categories embedded."""
    first = len(settings.layout.counts)
    sizes = {i: settings.buckets for i, j in enumerate(S) if j >= first}
    return EmbeddedColumns(len(S), sizes, settings.dimension)


def select(path: Path | str, k: int, seed: int, settings: Settings, steps: int) -> tuple[int, ...]:
    """The k columns that Sequential Attention picks in one pass of `steps` batches, in order."""
    plan = Plan(1, settings.batch_size, settings.learning_rate)
    with seeded(seed):
        columns = _columns(settings, range(settings.layout.columns))
        network = mlp(columns.n_features, settings.hidden, 2)
        selector = SequentialAttention(network, k, inputs=columns, optimizer=plan.adam, rng=seed)
        return tuple(selector.fit_stream(batches(path, settings), steps).order.tolist())


def train(path: Path | str, S: Sequence[int], seed: int, settings: Settings) -> nn.Module:
    """A network on the columns S, trained in one pass; its first module takes these columns only."""
    plan = Plan(1, settings.batch_size, settings.learning_rate)
    with seeded(seed):
        columns = _columns(settings, S)
        network = nn.Sequential(columns, mlp(columns.n_features, settings.hidden, 2))
        optimizer = plan.adam(network.parameters())
        for step, (X, y) in enumerate(batches(path, settings), 1):
            optimizer.zero_grad()
            backward(network, Rows(X[:, list(S)], y), cross_entropy, f"training on clicks, step {step}")
            optimizer.step()
    return network


def evaluate(path: Path | str, S: Sequence[int], network: nn.Module, settings: Settings) -> dict[str, float]:
    """AUC and log loss on the rows that are held out; ValueError where these are all of one class."""
    labels, chances = [], []
    most = -(-settings.test_rows // settings.batch_size)
    with torch.no_grad():
        for X, y in itertools.islice(batches(path, settings, test=True), most):
            labels.append(y.numpy())
            chances.append(torch.softmax(network(X[:, list(S)]).double(), dim=1)[:, 1].numpy())
    y, p = (np.concatenate(parts) if parts else np.zeros(0) for parts in (labels, chances))
    if len(np.unique(y)) < 2:
        raise ValueError(f"{path} must have both classes among the rows held out; got {len(y)} rows")
    return {"AUC": float(roc_auc_score(y, p)), "log loss": float(log_loss(y, p, labels=[0, 1]))}


def run(path: Path | str, k: int, seed: int, settings: Settings | None = None) -> Record:
    """Select k columns in one pass, train on them in another, and score the rows held out.

    Raises as `batches`; ValueError for fewer batches than picks.
    """
    settings = settings or Settings()
    rows = count_rows(path, settings)
    trained = rows - rows // settings.test_every
    begin = time.process_time()
    S = select(path, k, seed, settings, steps=-(-trained // settings.batch_size))
    selected = time.process_time()
    network = train(path, S, seed, settings)
    timed = {"selecting": selected - begin, "fitting": time.process_time() - selected}
    piece = Piece("streams", Path(path).name, "Sequential Attention", k, seed)
    return Record(piece, evaluate(path, S, network, settings), S, timed, trained)


def records(
    path: Path | str,
    settings: Settings | None = None,
    sizes: Sequence[int] = SIZES,
    seeds: Sequence[int] = (1, 2, 3),
) -> Iterator[Record]:
    """`run` for each seed and k, in four passes through the file; k beyond the columns is left out."""
    settings = settings or Settings()
    for seed, k in itertools.product(seeds, sizes):
        if k <= settings.layout.columns:
            yield run(path, k, seed, settings)


def criteo_like(path: Path | str, n: int, seed: int) -> tuple[int, ...]:
    """Write n lines of the layout CLICKS, of which 3 counts and 4 categories decide; returns these columns.

    The log odds are the sum of a slope times log(1 + c) of a count c, and of an effect of each category, all
    centred and of variance 1 or so; a tenth of the fields are empty. gzip where the name ends in .gz.
    """
    rng = np.random.default_rng(seed)
    counts = np.floor(np.exp(rng.normal(1.0, 1.5, (n, 13)))).astype(int)
    sizes = np.where(np.arange(26) % 2 == 0, 8, 1000)
    numbers = (rng.random((n, 26)) ** 2 * sizes).astype(int)
    own = np.sort(rng.choice(13, 3, replace=False))
    chosen = np.sort(rng.choice(np.arange(0, 26, 2), 4, replace=False))
    empty = rng.random((n, 39)) < 0.1
    odds = np.where(empty[:, own], 0, np.log1p(counts[:, own]) - 1.4) @ rng.choice([-1.0, 1.0], 3)
    for j in chosen:
        odds += np.append(rng.permutation(np.linspace(-1.7, 1.7, sizes[j])), 0.0)[
            np.where(empty[:, 13 + j], sizes[j], numbers[:, j])
        ]
    y = rng.random(n) < 1 / (1 + np.exp(1.5 - odds))
    opened = gzip.open if str(path).endswith(".gz") else open
    with opened(path, "wb") as file:
        for i in range(n):
            fields = [*map(str, counts[i]), *(f"{number:08x}" for number in numbers[i])]
            shown = ["" if gone else field for field, gone in zip(fields, empty[i], strict=True)]
            file.write(("\t".join([str(int(y[i])), *shown]) + "\n").encode())
    return (*own.tolist(), *(chosen + 13).tolist())
