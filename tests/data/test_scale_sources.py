"""Sources of `compress` that need packages of their own, and what memory they take; Dask with two workers."""

import json
import os
import re
import signal
import subprocess
import sys

import numpy as np
import pytest
from commands import invoke
from refusals import refuses

import sparselin as sl

N, COLUMNS = 6000, ("a", "b", "c", "d")
KEPT = {"y": "y", "categories": ["city"], "intercept": True}
DASK = pytest.mark.door("dask")
DUCK = pytest.param("duckdb", marks=pytest.mark.door("duckdb"))
ZARR = pytest.param("zarr", marks=pytest.mark.door("zarr"))
SMALL = 24 * 24**2 + 8 * 64 * 1024  # memory for chunks of some thousand rows


@pytest.fixture(scope="module")
def columns():
    rng = np.random.default_rng(2)
    X = rng.standard_normal((N, len(COLUMNS)))
    city = np.array(["Rome", "Paris", "Oslo"])[np.minimum(np.arange(N) // 2500, 2)]
    return {**dict(zip(COLUMNS, X.T.copy(), strict=True)), "flag": X[:, 0] > 1, "city": city,
            "y": X[:, 2] - X[:, 0] + (city == "Oslo") + rng.standard_normal(N)}  # fmt: skip


@pytest.fixture(scope="module")
def parquet(columns, tmp_path_factory):
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    path = tmp_path_factory.mktemp("scale") / "table.parquet"
    pq.write_table(pa.table(columns), path, row_group_size=2000)
    return path


def same(problem, columns):
    """It has the Gram matrix of the columns, and what is selected from it is what is selected from them."""
    levels = ("Rome", "Paris", "Oslo")
    assert problem.names == (*COLUMNS, "flag", *(f"city={level}" for level in levels))
    X = [*(columns[name] for name in (*COLUMNS, "flag")), *(columns["city"] == level for level in levels)]
    A = np.column_stack([*X, columns["y"]]).astype(float)
    R = np.column_stack([problem.X, problem.y])
    np.testing.assert_allclose(R.T @ R, A.T @ A, rtol=1e-12, atol=1e-10)
    path = sl.omp(problem, 3)
    assert set(path.support_names) == {"c", "a", "city=Oslo"}
    assert problem.compressed.rows == N


@pytest.mark.parametrize("package", ["pyarrow", "polars", DUCK, "pandas", "batches", "dicts"])
def test_each_package_gives_the_same(package, columns, parquet):
    if package in ("polars", "pandas"):
        module = pytest.importorskip(package)
    if package == "polars":
        source = module.scan_parquet(parquet)
        if not hasattr(source, "collect_batches"):
            pytest.skip("needs polars ≥ 1.34")
    elif package == "duckdb":
        import duckdb

        source = duckdb.read_parquet(str(parquet))
    elif package == "pandas":
        source = module.DataFrame(columns).astype({"city": "category"})
    elif package == "batches":
        import pyarrow.parquet as pq

        source = pq.ParquetFile(parquet).iter_batches(700)
    elif package == "dicts":
        source = [{k: v[a : a + 1500] for k, v in columns.items()} for a in range(0, N, 1500)]
    else:
        source = parquet
    same(sl.compress(source, memory=SMALL, **KEPT), columns)


@pytest.mark.parametrize("held_out", [0, 7])
@pytest.mark.parametrize("columns", [None, ["c", "a"]])
@pytest.mark.parametrize("form", ["array", "memmap", "pyarrow", "polars", DUCK, ZARR])
def test_the_memory_that_a_message_names_is_enough(form, columns, held_out, tmp_path, monkeypatch):
    A = np.random.default_rng(0).standard_normal((3000, 40))
    names, tables = [*"abcdefgh", *map(str, range(32))], form in ("pyarrow", "polars", "duckdb")
    options = {"y": "b" if tables else 1, "held_out": held_out}
    if columns is not None:
        options["columns"] = columns if tables else [2, 0]
    source = A
    if form == "memmap":
        source = np.memmap(tmp_path / "A", np.float64, "w+", shape=A.shape)
        source[:] = A
    elif form == "zarr":
        import zarr

        source = zarr.array(A, chunks=(500, 40))
    elif tables:
        pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
        source = tmp_path / "A.parquet"
        pq.write_table(pa.table(dict(zip(names, A.T, strict=True))), source)
        if form == "polars":
            source = pytest.importorskip("polars").scan_parquet(source)
        elif form == "duckdb":
            import duckdb

            source = duckdb.read_parquet(str(source))
    with pytest.raises(ValueError, match="memory must be at least") as raised:
        sl.compress(source, memory=1000, **options)
    needed = int(re.search(r"Pass memory=(\d+)", str(raised.value))[1])
    with pytest.raises(ValueError, match=f"memory must be at least {needed} bytes .*; got {needed - 1}"):
        sl.compress(source, memory=needed - 1, **options)
    problem = sl.compress(source, memory=needed, **options)
    monkeypatch.setattr("sparselin.scale.sources._DEFAULT_MEMORY", 1)
    default = sl.compress(source, **options)
    assert (default.X == problem.X).all()
    assert default.compressed.chunks == problem.compressed.chunks > 1
    path, expected = sl.omp(default, 2), sl.omp(np.delete(A, 1, axis=1), A[:, 1], 2)
    if columns is None and not held_out:
        np.testing.assert_allclose(path.coef, expected.coef, rtol=1e-10)


def test_of_a_parquet_only_the_columns_named_are_read(parquet, columns):
    problem = sl.compress(parquet, y="y", weights="flag", columns=["c", "a"])
    assert problem.names == ("c", "a")
    w = columns["flag"]
    expected = sl.Problem(np.column_stack([columns["c"], columns["a"]])[w], columns["y"][w])
    np.testing.assert_allclose(sl.omp(problem, 2).coef, sl.omp(expected, 2).coef, rtol=1e-10)
    refuses("it has no 'z'", sl.compress, parquet, y="y", columns=["z"])


def test_other_packages_are_not_imported():
    code = """
import sys, numpy as np, sparselin as sl
A = np.ones((5, 2))
sl.compress(A, y=0), sl.compress([A, A], y=0), sl.compress([{"a": A[:, 0], "y": A[:, 1]}], y="y")
print([name for name in ("pyarrow", "polars", "pandas", "duckdb", "zarr", "dask") if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.door("zarr")
def test_zarr_with_columns_chunked_too(columns, tmp_path):
    import zarr

    A = np.column_stack([columns[name] for name in (*COLUMNS, "y")])
    array = zarr.create_array(str(tmp_path / "A"), shape=A.shape, chunks=(700, 2), dtype="f8")
    array[:] = A
    problem = sl.compress(array, y=4, memory=24 * 7**2 + 4 * 40 * 2048)
    assert problem.compressed.chunks == -(-N // 1400)
    np.testing.assert_allclose(sl.omp(problem, 3).coef, sl.omp(A[:, :4], A[:, 4], 3).coef, rtol=1e-10)


def test_a_parquet_that_is_cut_or_spoiled_is_named(parquet, tmp_path):
    import pyarrow.parquet as pq

    bad = tmp_path / "bad.parquet"
    whole = parquet.read_bytes()
    bad.write_bytes(whole[:-500])
    refuses(r"bad\.parquet cannot be read as a Parquet file", sl.compress, bad, y="y")
    with pytest.raises(FileNotFoundError):
        sl.compress(tmp_path / "none.parquet", y="y")
    at = pq.ParquetFile(parquet).metadata.row_group(1).column(2).data_page_offset
    bad.write_bytes(whole[:at] + b"\xff" * 3000 + whole[at + 3000 :])
    options = {"y": "y", "columns": ["a", "c"], "memory": SMALL}
    with pytest.raises(sl.BadChunk, match=r"chunk \d \(row group 1\) cannot be read") as raised:
        sl.compress(bad, **options)
    assert raised.value.problem().compressed.rows == 2000
    problem = sl.compress(bad, on_bad="skip", **options)
    assert problem.compressed.rows == 4000
    assert all("row group 1" in why for _, why in problem.compressed.skipped)


def test_an_interrupted_pass_over_parquet_goes_on_to_the_same_bits(parquet, tmp_path):
    expected = sl.compress(parquet, memory=SMALL, **KEPT)

    def stop(progress):
        if progress.chunks == 4:
            raise KeyboardInterrupt

    options = {"memory": SMALL, "checkpoint": tmp_path / "pass.npz", **KEPT}
    with pytest.raises(KeyboardInterrupt):
        sl.compress(parquet, progress=stop, **options)
    problem = sl.compress(parquet, **options)
    assert expected.compressed.chunks > 5
    assert (problem.X == expected.X).all()
    assert problem.compressed == expected.compressed


LIMITED = """
import resource, sys
import pyarrow.parquet as pq, sparselin as sl
small, big, how, memory = *sys.argv[1:4], 2**26
sl.compress(small, y="c0", memory=memory)
lines = open("/proc/self/status").read().splitlines()
taken = int(next(line.split()[1] for line in lines if line.startswith("VmSize"))) * 1024
resource.setrlimit(resource.RLIMIT_AS, (taken + memory + 3 * 2**23,) * 2)
if how == "dask":
    import dask, dask.array as da
    dask.config.set(scheduler="sync")
    x = da.random.default_rng(0).standard_normal((60_000, 300), chunks=(1000, 150))
    print(sl.compress(x, y=0).compressed.chunks)
elif how == "compress":
    print(sl.compress(big, y="c0", memory=memory).compressed.rows)
else:
    # without threads: PyArrow may wait without end for one that the system refuses
    batches = pq.ParquetFile(big, pre_buffer=False).iter_batches(10000, use_threads=False)
    print(sum(batch.num_rows for batch in batches))
"""


@pytest.fixture
def limited(tmp_path):
    """Return a function that runs a way of reading with 64 MiB, and 24 for a thread and the allocator.

    The Parquet file has 200 MiB in one row group. Up to version 22 PyArrow needs a few MiB more.
    """
    if not sys.platform.startswith("linux"):
        pytest.skip("limits of the address space are of Linux")
    pa = pytest.importorskip("pyarrow", "23")
    import pyarrow.parquet as pq

    n = 200 * 2**20 // 160
    x = np.random.default_rng(0).standard_normal(n)
    table = pa.table({f"c{j}": x if j else x * x for j in range(20)})
    options = {"compression": "none", "use_dictionary": False, "row_group_size": n}
    pq.write_table(table, tmp_path / "big.parquet", **options)
    pq.write_table(table.slice(0, 5000), tmp_path / "small.parquet", **options)
    env = {**os.environ, "MALLOC_ARENA_MAX": "1", "ARROW_DEFAULT_MEMORY_POOL": "system",
           "OMP_NUM_THREADS": "1"}  # fmt: skip

    def run(how):
        command = [sys.executable, "-c", LIMITED, tmp_path / "small.parquet", tmp_path / "big.parquet", how]
        return subprocess.run(command, env=env, capture_output=True, text=True, check=False, timeout=120)

    return run


def test_a_row_group_larger_than_the_address_space_left(limited):
    """PyArrow's usual way fails."""
    done = limited("compress")
    assert done.stdout.strip() == str(200 * 2**20 // 160), done.stderr[-800:]
    assert "failed" in limited("plain").stderr


@DASK
def test_a_dask_array_larger_than_the_address_space_left(limited):
    """(60,000 × 300), in chunks of columns too, is 137 MiB."""
    assert limited("dask").stdout.strip() == "60"


@pytest.fixture(scope="module")
def dask_array(columns):
    import dask.array as da

    A = np.column_stack([columns[name] for name in (*COLUMNS, "y")])
    return A, da.from_array(A, chunks=(250, 3))


@DASK
def test_dask_in_this_process(columns, dask_array):
    A, array = dask_array
    problem = sl.compress(array, y=4, intercept=True)
    expected = sl.omp(A[:, :4], A[:, 4], 3, intercept=True).coef
    np.testing.assert_allclose(sl.omp(problem, 3).coef, expected, rtol=1e-10)
    apart = sl.compress(array[:, :4], y=array[:, 4], weights=np.ones(N), intercept=True)
    assert (apart.X == problem.X).all()
    import dask.dataframe as dd

    pd = pytest.importorskip("pandas")
    frame = dd.from_pandas(pd.DataFrame(columns), npartitions=7)
    same(sl.compress(frame, **KEPT), columns)
    with pytest.raises(sl.BadChunk, match=r"chunk 5 .*'city' has at least 3 levels"):
        sl.compress(frame, y="y", categories=["city"], max_levels=2)


@DASK
def test_dask_names_bad_chunks_and_goes_on(dask_array, tmp_path):
    import dask.array as da

    A, _ = dask_array
    bad = A.copy()
    bad[1300, 2] = np.nan
    array = da.from_array(bad, chunks=(250, 5))
    with pytest.raises(sl.BadChunk, match=r"^chunk 5 has nan in column 2, row 50") as raised:
        sl.compress(array, y=4)
    assert raised.value.problem().compressed.rows == 1250
    problem = sl.compress(array, y=4, on_bad="skip")
    assert [number for number, _ in problem.compressed.skipped] == [5]
    assert problem.compressed.rows == N - 250

    def stop(progress):
        if progress.chunks == 11:
            raise KeyboardInterrupt

    path, seen = tmp_path / "pass.npz", []
    with pytest.raises(KeyboardInterrupt):
        sl.compress(array, y=4, on_bad="skip", checkpoint=path, progress=stop)
    again = sl.compress(array, y=4, on_bad="skip", checkpoint=path, progress=lambda p: seen.append(p.chunks))
    assert seen[0] == 12
    assert (again.X == problem.X).all()
    assert again.compressed == problem.compressed


@pytest.mark.door("dask", "distributed")
def test_two_workers_and_one_that_is_killed_give_the_same_bits(dask_array, columns):
    import distributed

    _, array = dask_array
    expected = sl.compress(array, y=4, held_out=4)
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0", "processes": True}
    killed = []

    def kill(progress):
        if progress.chunks == 9 and not killed:
            killed.append(workers[0])
            os.kill(workers[0], getattr(signal, "SIGKILL", signal.SIGTERM))

    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster) as client:
        workers = list(client.run(os.getpid).values())
        assert len(workers) == 2
        problem = sl.compress(array, y=4, held_out=4)
        again = sl.compress(array, y=4, held_out=4, progress=kill)
        after = list(client.run(os.getpid).values())
    assert killed
    assert killed[0] not in after
    for one in (problem, again):
        assert (one.X == expected.X).all()
        assert (one.compressed.held_out.X == expected.compressed.held_out.X).all()
        assert one.compressed.eps == expected.compressed.eps


def test_the_command_selects_from_a_parquet_in_one_pass(parquet, columns, tmp_path):
    output = tmp_path / "out"
    options = ("--target", "y", "--k", 3, "--categories", "city", "--output", output, "--one-pass")
    words = invoke("select", parquet, *options)
    assert "6,000 rows" in words
    assert "KiB" in words
    assert "5,400 rows in 3 chunks, 8 features; target: y" in words
    lines = (output / "selected.csv").read_text().splitlines()
    assert {line.split(",")[1] for line in lines[1:]} == {"a", "c", "city=Oslo"}
    results = json.loads((output / "results.json").read_text())
    problem = sl.compress(parquet, y="y", categories=["city"], intercept=True, standardize=True, held_out=10)
    path = sl.omp(problem, 3)
    found = [row["held_out_r2"] for row in results["selected"]]
    assert found == pytest.approx(problem.compressed.held_out_r2(path)[1:].tolist())
    assert found[-1] > 0.5


REFUSED = [
    (("--one-pass",), "needs --k"),
    (("--one-pass", "--k", 2, "--folds", 5), "has no effect with --one-pass"),
    (("--one-pass", "--k", 2), "'city' is not numeric (dtype string): name it in categories"),
    (("--one-pass", "--k", 2, "--drop", "cities"), "cities"),
    (("--one-pass", "--k", 2, "--drop", "city", "--memory", 9), "memory must be at least"),
    (("--one-pass", "--k", 2, "--group", "city"), "has no effect with --one-pass"),
    (("--one-pass", "--k", 2, "--loss", "logistic"), "has no effect with --one-pass"),
    (("--k", 2, "--memory", 9), "no effect with a table in memory"),
]


@pytest.mark.parametrize(("options", "message"), REFUSED)
def test_the_command_refuses(parquet, tmp_path, options, message):
    assert message in invoke("select", parquet, "--output", tmp_path / "out", *options, exit_code=2)


def test_the_command_takes_the_memory_that_its_message_names(parquet, tmp_path):
    options = ("--one-pass", "--k", 2, "--drop", "city", "--output", tmp_path / "out", "--memory")
    words = invoke("select", parquet, *options, 9, exit_code=2)
    invoke("select", parquet, *options, re.search(r"Pass memory=(\d+)", words)[1])


def test_a_large_parquet_is_read_in_one_pass(parquet, monkeypatch):
    from sparselin.studies.select import one_pass

    assert not one_pass.is_large(parquet)
    monkeypatch.setattr(one_pass, "available", lambda: 8 * 8 * 7 * N - 1.0)
    assert one_pass.is_large(parquet)


def test_levels_of_a_dictionary_that_do_not_appear_are_none():
    pa = pytest.importorskip("pyarrow")
    city = pa.DictionaryArray.from_arrays(pa.array([2, 2, 1, 2]), pa.array(["Bern", "Rome", "Oslo"]))
    table = pa.table({"city": city, "y": [1.0, 2.0, 3.0, 4.0]})
    problem = sl.compress([table], y="y", categories=["city"])
    assert problem.compressed.levels == {"city": ("Oslo", "Rome")}
