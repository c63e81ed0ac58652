"""A checkpoint of `compress` belongs to its data: other data are refused, whatever the source.

Each source is made of the same table, of another table of the same form, and of the table with one number
corrected. `sources` reads them afresh, as a later program would.
"""

import json
import os
import shutil

import numpy as np
import pytest

import sparselin as sl

N, D, P = 12_000, 5, 1000  # rows, columns, rows of a chunk
JAN, FEB = np.random.default_rng([5, 1]).standard_normal((2, N, D))
SMALL = 24 * (D + 2) ** 2 + 4 * 8 * D * 2048  # bytes for chunks of 2048 rows, and for Parquet of 1024


def corrected(table, row):
    """The table with one number corrected."""
    changed = table.copy()
    changed[row, 2] += 0.5
    return changed


def parquet(table, path):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    columns = {f"c{j}": table[:, j] for j in range(D)}
    pq.write_table(pa.table(columns), path, row_group_size=3000, use_dictionary=False, compression="none")
    return path, {"y": "c0"}


def mapped(table, path):
    np.save(path.with_suffix(".npy"), table)
    return np.load(path.with_suffix(".npy"), mmap_mode="r"), {"y": 0}


def zarr(table, path):
    import zarr as package

    package.create_array(str(path), data=table, chunks=(P, D), overwrite=True)
    return package.open_array(str(path), mode="r"), {"y": 0}


def frames(table, path):
    pd = pytest.importorskip("pandas")
    chunks = (pd.DataFrame(table[a : a + P], columns=list("abcde")) for a in range(0, N, P))
    return chunks, {"y": "a", "columns": ["b", "c", "d"]}


def relation(table, path):
    import duckdb

    parquet(table, path)
    return duckdb.connect().from_parquet(str(path)), {"y": "c0"}


def lazy(table, path):
    polars = pytest.importorskip("polars")
    parquet(table, path)
    return polars.scan_parquet(path), {"y": "c0"}


def dask(table, path):
    import dask.array as da

    return da.from_array(table, chunks=(P, 3)), {"y": 0}


def opened(table, path):
    pq = pytest.importorskip("pyarrow.parquet")
    parquet(table, path)
    return pq.ParquetFile(path), {"y": "c0"}


def pairs(table, path):
    return ((table[a : a + P, 1:], table[a : a + P, 0]) for a in range(0, N, P)), {}


SOURCES = {
    "parquet": parquet, "a ParquetFile": opened, "memmap": mapped, "zarr": zarr, "frames": frames,
    "DuckDB": relation, "polars": lazy, "Dask": dask, "pairs": pairs,
    "array": lambda table, path: (table.copy(), {"y": 0}),
    "array and y": lambda table, path: (table[:, 1:].copy(order="F"), {"y": table[:, 0]}),
    "map and y": lambda table, path: (mapped(table[:, 1:], path)[0], {"y": table[:, 0]}),
    "map of Fortran": lambda table, path: mapped(np.asfortranarray(table), path),
    "writable map": lambda table, path: (np.load(np.save(path, table) or f"{path}.npy", "r+"), {"y": 0}),
    "categories": lambda table, path: (
        ({"y": t[:, 0], "x": t[:, 1], "c": np.sign(t[:, 2]).astype(str)} for t in np.split(table, N // P)),
        {"y": "y", "categories": ["c"]},
    ),
}  # fmt: skip
DOORS = {"zarr": "zarr", "DuckDB": "duckdb", "Dask": "dask"}
own = [kind for kind in SOURCES if kind not in DOORS]
others = [pytest.param(kind, marks=pytest.mark.door(module)) for kind, module in DOORS.items()]
each_source = pytest.mark.parametrize("kind", own + others)


def compress(kind, table, path, **options):
    source, arguments = SOURCES[kind](table, path)
    limit = (
        {}
        if kind in ("frames", "Dask", "pairs", "categories")
        else {"memory": SMALL + 2**19 * (kind in ("parquet", "a ParquetFile"))}
    )
    return sl.compress(source, **arguments, **limit, every=2, **options)


def stop_at(number):
    def stop(progress):
        if progress.chunks == number:
            raise KeyboardInterrupt

    return stop


def interrupted(kind, table, path, checkpoint):
    """Interrupt a pass after three chunks; its checkpoint has them."""
    with pytest.raises(KeyboardInterrupt):
        compress(kind, table, path, checkpoint=checkpoint, progress=stop_at(3))


@each_source
@pytest.mark.parametrize("whole", [True, False], ids=["completed", "interrupted"])
def test_other_data_are_refused_and_the_same_are_not(kind, whole, tmp_path):
    checkpoint, file = tmp_path / "pass.ck", tmp_path / "data"
    expected = compress(kind, JAN, tmp_path / "once")
    assert expected.compressed.chunks > 3
    if whole:
        compress(kind, JAN, file, checkpoint=checkpoint)
    else:
        interrupted(kind, JAN, file, checkpoint)
    before = checkpoint.read_bytes()
    with pytest.raises(ValueError, match="belongs to other data: chunk 0 is not the one that was read"):
        compress(kind, FEB, tmp_path / "feb", checkpoint=checkpoint)
    shutil.rmtree(file) if file.is_dir() else None
    row = P + 200 if kind in ("frames", "Dask", "pairs", "categories") else 2500  # in the second chunk
    changed = (
        corrected(JAN, row) if kind != "categories" else JAN * np.where(np.arange(N) == row, -1, 1)[:, None]
    )
    with pytest.raises(ValueError, match=r"belongs to other data: .*\. Choose another file .* or delete it"):
        compress(kind, changed, file, checkpoint=checkpoint)
    assert checkpoint.read_bytes() == before
    shutil.rmtree(file) if file.is_dir() else None
    again = compress(kind, JAN, tmp_path / "copy", checkpoint=checkpoint)
    assert (again.X == expected.X).all()
    assert (again.y == expected.y).all()
    assert again.compressed == expected.compressed


@pytest.mark.parametrize("kind", ["parquet", "memmap", "map and y", "map of Fortran"])
def test_an_unchanged_file_is_not_read_again(kind, tmp_path, monkeypatch):
    """And a file whose times were set back after it was corrected is: the system keeps the time of that."""
    checkpoint, file = tmp_path / "pass.ck", tmp_path / "data"
    interrupted(kind, JAN, file, checkpoint)
    expected = compress(kind, JAN, tmp_path / "once")
    written = next(path for path in tmp_path.iterdir() if path.stem == "data")
    state, kept = written.stat(), written.read_bytes()
    chunks = []
    monkeypatch.setattr("sparselin.scale.passes.digest_of", counted(chunks))
    monkeypatch.setitem(SOURCES, kind, reopened(SOURCES[kind], written))
    again = compress(kind, JAN, file, checkpoint=checkpoint)
    assert (again.X == expected.X).all()
    assert len(chunks) == 1 + again.compressed.chunks - 3  # the first, and those that are new
    written.write_bytes(kept)
    os.utime(written, ns=(state.st_atime_ns, state.st_mtime_ns))
    chunks.clear()
    compress(kind, JAN, file, checkpoint=checkpoint)
    assert len(chunks) >= again.compressed.chunks


def counted(chunks):
    from sparselin.scale.checkpoint import digest_of

    return lambda chunk, form: chunks.append(chunk.rows) or digest_of(chunk, form)


def reopened(make, written):
    """A source that opens the file that is there."""

    def source(table, path):
        if path.stem != "data":
            return make(table, path)
        arguments = make(table, path.with_name("other"))[1]
        return np.load(written, mmap_mode="r") if written.suffix == ".npy" else written, arguments

    return source


@pytest.mark.parametrize("view", [np.s_[::2], np.s_[:, ::-1], np.s_[N // 2 :], np.s_[: N // 2]], ids=str)
def test_another_part_of_the_same_map_is_other_data(view, tmp_path):
    """Here the first chunks of both parts are equal."""
    table = np.zeros((N, D))
    table[:, 0] = np.arange(N) % 2
    table[N // 2 - 1 :: 3] = 7.0
    array = mapped(table, tmp_path / "data")[0]
    sl.compress(
        array[: N // 2] if view != np.s_[: N // 2] else array[N // 2 :], y=0, checkpoint=tmp_path / "ck"
    )
    with pytest.raises(ValueError, match=r"belongs to (other data|another)"):
        sl.compress(array[view], y=0, checkpoint=tmp_path / "ck")


def test_levels_that_a_checkpoint_cannot_store_are_refused(tmp_path):
    import datetime

    days = [datetime.date(2026, 1, 1 + i % 3) for i in range(30)]
    chunk = {"day": np.array(days, object), "x": np.arange(30.0), "y": np.arange(30.0)}
    assert sl.compress([chunk], y="y", categories=["day"]).d == 4
    with pytest.raises(
        TypeError, match=r"levels that are strings or numbers; column 'day' has datetime\.date"
    ):
        sl.compress([chunk], y="y", categories=["day"], checkpoint=tmp_path / "ck")


# A checkpoint that contradicts itself was forged, or damaged


def forged(checkpoint, change):
    """Rewrite a checkpoint after a change of its header and its arrays."""
    with np.load(checkpoint) as stored:
        arrays = dict(stored)
    head = json.loads(str(arrays.pop("head")))
    change(head, arrays)
    with checkpoint.open("wb") as file:
        np.savez(file, head=np.array(json.dumps(head)), **arrays)


def part(**fields):
    return lambda head, arrays: head["parts"][0].update(fields)


def head(**fields):
    return lambda head, arrays: head.update(fields)


def R(change, name="R0"):
    return lambda head, arrays: arrays.update({name: change(arrays[name].copy())})


def spoil(value, *at):
    def change(array):
        array[at] = value
        return array

    return change


FORGERIES = {
    "chunks -1": head(chunks=-1), "chunks 0": head(chunks=0), "chunks 2": head(chunks=2),
    "chunks 5": head(chunks=5), "chunks inf": head(chunks=float("inf")), "chunks 3.0": head(chunks=3.0),
    "chunks true": head(chunks=True), "chunks large": head(chunks=10**400),
    "no trace": head(trace={}),
    "empty trace": head(trace={"first": "", "chain": ""}), "trace": head(trace={"first": 1, "chain": 2}),
    "stamp": lambda head, arrays: head.pop("stamp"),
    "parts twice": lambda h, a: h["parts"].extend(h["parts"][:1]),
    "rows twice": part(rows=4800), "rows -1": part(rows=-1), "rows 1.5": part(rows=1.5),
    "rows and weight": part(rows=3000, weight=3000.0), "weight": part(weight=1.0),
    "weightless": part(weightless=3), "weightless -1": part(weightless=-1),
    "weight nan": part(weight=float("nan")),
    "part's chunks": part(chunks=9), "height": part(height=1), "skipped": part(skipped=[[0, "x"], [0, "x"]]),
    "skipped beyond": part(skipped=[[9, "x"]]), "steps": part(steps=0),
    "merges": part(merges=-1),
    "held_rows": part(held_rows=10), "level": part(slots=[[1, "a"]]), "levels": part(slots=[1]),
    "R (9, 9)": R(lambda R: np.zeros((9, 9))), "R (0, 0)": R(lambda R: R[:0, :0]),
    "R nan": R(lambda R: R * np.nan),
    "R inf": R(spoil(np.inf, 0, 1)), "R full": R(np.ones_like),
    "R negative": R(lambda R: -R),
    "R float32": R(lambda R: R.astype(np.float32)), "a row of R": R(lambda R: R[0]),
    "R scaled": R(lambda R: 2 * R),
    "held": lambda head, arrays: arrays.update(held0=arrays["R0"]),
    "no R": lambda head, arrays: arrays.pop("R0"),
}  # fmt: skip


@pytest.mark.parametrize("name", FORGERIES)
@pytest.mark.parametrize("kind", ["pairs", others[-1]])
def test_a_checkpoint_that_contradicts_itself_is_refused(kind, name, tmp_path):
    checkpoint = tmp_path / "pass.ck"
    with pytest.raises(KeyboardInterrupt):
        compress(kind, JAN, tmp_path, checkpoint=checkpoint, progress=stop_at(4), intercept=True)
    forged(checkpoint, lambda head, arrays: None)
    if name not in ("R scaled", "rows and weight") or kind == "pairs":
        forged(checkpoint, FORGERIES[name])
        before = checkpoint.read_bytes()
        with pytest.raises(
            ValueError, match=r"is not the checkpoint of a pass: .*Choose another file, or delete"
        ):
            compress(kind, JAN, tmp_path, checkpoint=checkpoint, intercept=True)
        assert checkpoint.read_bytes() == before
        compress(kind, JAN, tmp_path, checkpoint=tmp_path / "new", intercept=True)


def test_a_checkpoint_of_the_version_before_says_why_it_is_of_no_use(tmp_path):
    checkpoint = tmp_path / "pass.ck"
    compress("pairs", JAN, tmp_path, checkpoint=checkpoint)
    forged(checkpoint, head(format="sparselin pass 1"))
    with pytest.raises(
        ValueError, match=r"an earlier version wrote it, which did not store of which data it is"
    ):
        compress("pairs", JAN, tmp_path, checkpoint=checkpoint)
