"""`compress`: the factor of [X y] in one pass, against the data themselves, exact sums, and bad chunks."""

import json

import numpy as np
import pytest
from chunked import DATA, D, N, parts
from refusals import refuses

import sparselin as sl
from sparselin.scale import factor
from sparselin.scale.passes import read_ahead


def table(X, y, size=700):
    """Chunks of a table."""
    for chunk in parts(X, y, size=size):
        yield {**{f"a{j}": chunk[0][:, j] for j in range(X.shape[1])}, "y": chunk[1]}


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("options", [{}, {"intercept": True}, {"standardize": True},
                                     {"intercept": True, "standardize": True}], ids=str)  # fmt: skip
def test_every_result_is_that_of_the_data(options, weighted):
    X, y, w = DATA
    whole = sl.Problem(X, y, sample_weight=w if weighted else None, **options)
    problem = sl.compress(parts(X, y, w) if weighted else parts(X, y), **options)
    assert problem.compressed.rows == ((w > 0).sum() if weighted else N)
    for method in (sl.omp, sl.ols, sl.sequential_lasso):
        ours, theirs = method(problem, 4), method(whole, 4)
        assert ours.support.tolist() == theirs.support.tolist()
        for field in ("coef", "lam_star", "residual_norm", "intercept"):
            np.testing.assert_allclose(getattr(ours, field), getattr(theirs, field), rtol=1e-9)
        assert ours.r2 == pytest.approx(theirs.r2, rel=1e-12)
        np.testing.assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-9)
    ours, theirs = sl.lasso_path(problem), sl.lasso_path(whole)
    np.testing.assert_allclose(ours.knots, theirs.knots, rtol=1e-9, atol=1e-9 * theirs.knots[0])
    assert sl.best_subset(problem, 3).support.tolist() == sl.best_subset(whole, 3).support.tolist()
    forced = sl.omp(problem, 4, forced=[6, 0]).support.tolist()
    assert forced == sl.omp(whole, 4, forced=[6, 0]).support.tolist()


@pytest.mark.parametrize("form", ["array", "memmap", "index", "table", "pandas", "polars", "forced"])
def test_sources_give_the_same(form, tmp_path):
    X, y, _ = DATA
    A = np.column_stack([X[:, :3], y, X[:, 3:]])
    expected = sl.compress(parts(X, y, size=1024), intercept=True)
    if form in ("pandas", "polars"):
        frames = pytest.importorskip(form)
        problem = sl.compress(map(frames.DataFrame, table(X, y, 1024)), y="y", intercept=True)
    elif form == "table":
        problem = sl.compress(table(X, y, 1024), y="y", intercept=True)
        assert problem.names == tuple(f"a{j}" for j in range(D))
    elif form == "memmap":
        on_disk = np.memmap(tmp_path / "A", np.float64, "w+", shape=A.shape)
        on_disk[:] = A
        memory = 24 * (A.shape[1] + 2) ** 2 + 4 * 8 * A.shape[1] * 1024
        problem = sl.compress(on_disk, y=3, intercept=True, memory=memory)
        assert problem.compressed.chunks == 3
    elif form == "array":
        memory = 24 * (D + 2) ** 2 + 4 * 8 * D * 1024
        problem = sl.compress(X, y=y, intercept=True, memory=memory)
    elif form == "forced":
        problem = sl.compress(parts(X, y, size=1024), intercept=True, forced=[5, 2])
        assert np.count_nonzero(problem.X[3:, [5, 2]]) == 0
        np.testing.assert_allclose(problem.X.T @ problem.X, expected.X.T @ expected.X, rtol=1e-12)
        return
    else:
        problem = sl.compress(parts(A, size=1024), y=3 - A.shape[1], intercept=True)
    assert (problem.X == expected.X).all()
    assert (problem.y == expected.y).all()


def test_the_same_chunks_give_the_same_bits_wherever_they_are_in_memory():
    X, y, _ = DATA
    expected = sl.compress(parts(X, y))
    for offset in range(1, 4):
        raw = np.empty(X.size + offset)
        moved = raw[offset:].reshape(X.shape)
        moved[:] = X
        problem = sl.compress(parts(np.asfortranarray(moved) if offset == 2 else moved, y))
        assert (problem.X == expected.X).all()
    assert (np.diag(expected.X) >= 0).all()


def exact_error(R, G):
    """max |RᵀR − G|_ij/(‖a_i‖‖a_j‖), G being exact, in integers: R and its product are scaled to such."""
    whole = [[int(v) for v in row] for row in np.ldexp(R, 70 - np.frexp(np.abs(R).max())[1]).astype(object)]
    shift = 2 * (70 - int(np.frexp(np.abs(R).max())[1]))
    A = np.array(whole, object)
    off = A.T @ A - np.array([[int(v) << shift for v in row] for row in G.tolist()], object)
    lengths = np.sqrt(np.diag(G).astype(float))
    return max(
        abs(float(off[i, j]) / 2.0**shift) / (lengths[i] * lengths[j])
        for i in range(len(G))
        for j in range(len(G))
    )


@pytest.mark.parametrize(("steps", "rows", "d"), [(1, 1024, 20), (40, 1024, 12), (3000, 3, 6), (3000, 1, 3)])
def test_the_error_of_a_chain_is_within_the_stated_one(steps, rows, d):
    """Integers, whose Gram matrix is exact. For many steps it is beyond 8·eps, and so had to be enlarged."""
    rng = np.random.default_rng(steps)
    R, G, folder = factor.zeros(d), np.zeros((d, d), np.int64), factor.Folder(d)
    for _ in range(steps):
        A = rng.integers(-9, 10, (rows, d)) * 10 ** np.arange(d)[::-1].clip(max=4)
        G += A.T @ A
        B = factor.empty(rows, d)
        B[:] = A
        folder.fold(R, B)
    folder.finish(R)
    error, eps = exact_error(R, G), np.finfo(float).eps
    assert error <= 2 * 8 * factor.growth(steps, 0, d) * eps
    assert error <= 2 * factor.worst_error(steps, 0, d)
    if steps >= 3000:
        assert error > 8 * eps


def test_growth_is_that_of_length_and_logarithm():
    assert factor.growth(10**8, 0, 3) == pytest.approx(1e4 + 10**8 / 256, rel=1e-3)
    squares = [(factor.growth(1, merges, 100) - 1 / 256) ** 2 for merges in (10, 20)]
    assert squares[1] - squares[0] == pytest.approx(10 * 100**2)


def test_ties_of_integers_are_near_ties_and_a_certificate_is_of_the_factor(rng):
    pytest.importorskip("flint")
    X = rng.integers(-4, 5, (4000, 5)).astype(float)
    X[:, 3] = X[rng.permutation(4000), 1]
    X[:, 3] = np.where(np.arange(4000) % 2, X[:, 1], -X[:, 1])  # the same inner product with y = even rows
    y = np.where(np.arange(4000) % 2, X[:, 1], 0.0) + 0.0 * X[:, 0]
    problem = sl.compress(parts(X, y, size=300))
    assert set(sl.omp(problem, 1).ties[0]) == set(sl.omp(X, y, 1).ties[0]) == {1, 3}
    X, y = rng.standard_normal((4000, 5)), rng.standard_normal(4000)
    problem = sl.compress(parts(X, y), intercept=True)
    path = sl.omp(problem, 3)
    certificate = sl.certify(problem, path)
    assert certificate.verify(problem, exact=True)
    assert certificate.shape == (len(problem.X), 6)
    assert not certificate.verify(sl.compress(parts(X, y, size=699), intercept=True), exact=True)


def test_dependent_and_zero_columns_stay_so(rng):
    """A duplicate, a zero, a constant with an intercept, and a sum of two columns are never selected."""
    X = rng.standard_normal((5000, 7)) + 100
    X[:, 2], X[:, 3], X[:, 4], X[:, 5] = X[:, 0], 0, 7, X[:, 0] + X[:, 1]
    y = X @ [1, 2, 0, 0, 0, 0, 0.1] + rng.standard_normal(5000)
    for standardize in (False, True):
        problem = sl.compress(parts(X, y), intercept=True, standardize=standardize)
        path = sl.omp(problem, 7)
        assert path.status is sl.Status.RANK_EXHAUSTED
        assert len(path) == 3
        assert path.support[0] == 5 or {0, 2} <= set(path.ties[0]) or path.support[0] == 1


def test_rows_held_out():
    X, y, _ = DATA
    problem = sl.compress(parts(X, y, size=500), intercept=True, held_out=5)
    number, row = np.divmod(np.arange(N), 500)
    out = (row + number) % 5 == 4
    assert (problem.compressed.rows, problem.compressed.held_out.compressed.rows) == ((~out).sum(), out.sum())
    path, same = sl.omp(problem, 3), sl.omp(X[~out], y[~out], 3, intercept=True)
    np.testing.assert_allclose(path.coef, same.coef, rtol=1e-10)
    r2 = problem.compressed.held_out_r2(path)
    residual = y[out] - same.predict(X[out])
    total = y[out] - y[out].mean()
    assert r2[-1] == pytest.approx(1 - residual @ residual / (total @ total), rel=1e-10)
    assert r2[0] == pytest.approx(1 - np.sum((y[out] - y[~out].mean()) ** 2) / (total @ total), abs=1e-12)
    refuses("no rows were held out", sl.compress(parts(X, y)).compressed.held_out_r2, path)


def categorical(rng, n=2000):
    city = np.array(["Rome", "Paris", "Oslo", "Bern"])[np.minimum(np.arange(n) // 600, 3)]
    city[:300] = np.array(["Paris", "Oslo"])[rng.integers(0, 2, 300)]
    x = rng.standard_normal(n)
    return {"x": x, "city": city, "y": x + 9.0 * (city == "Oslo") + 0.1 * rng.standard_normal(n)}


def test_levels_have_codes_that_stay_and_late_ones_widen_the_factor(rng):
    columns = categorical(rng)
    chunks = ({k: v[a : a + 250] for k, v in columns.items()} for a in range(0, 2000, 250))
    problem = sl.compress(chunks, y="y", categories=["city"], intercept=True)
    levels = problem.compressed.levels["city"]
    assert levels == tuple(dict.fromkeys(columns["city"].tolist()))
    assert problem.names == ("x", *(f"city={level}" for level in levels))
    X = np.column_stack([columns["x"], *(columns["city"] == level for level in levels)])
    whole = sl.omp(X, columns["y"], 3, intercept=True)
    path = sl.omp(problem, 3)
    assert path.support_names[0] == "city=Oslo"
    assert path.support.tolist() == whole.support.tolist()
    np.testing.assert_allclose(path.coef, whole.coef, rtol=1e-10)
    chunks = [{k: v[a : a + 250] for k, v in columns.items()} for a in range(0, 2000, 250)]
    with pytest.raises(sl.BadChunk, match=r"chunk 1 .*'city' has at least 3 levels.*max_levels is 2"):
        sl.compress(chunks, y="y", categories=["city"], max_levels=2, on_bad="skip")
    refuses(r"'city' is not numeric.*categories", sl.compress, chunks, y="y", error=TypeError)


def spoiled(how):
    X, y, w = (v.copy() for v in DATA)
    chunks = list(parts(X, y, w, size=1000))
    A, b, c = chunks[1]
    if how == "nan":
        A[17, 2] = np.nan
    elif how == "inf":
        b[3] = np.inf
    elif how == "weight":
        c[5] = -1
    elif how == "weight nan":
        c[5] = np.nan
    chunks[1] = {
        "columns": (A[:, :-1], b, c),
        "dtype": (A.astype(np.float32), b, c),
        "lacks": (A, b),
        "text": (A.astype(str), b, c),
        "short": (A, b[:-1], c),
        "vector": (A[:, 0], b, c),
    }.get(how, (A, b, c))
    return chunks


BAD_CHUNKS = [
    ("nan", "has nan in column 2, row 17"),
    ("inf", "has inf in y, row 3"),
    ("weight", r"weight -1\.0 in row 5"),
    ("weight nan", "weight nan in row 5"),
    ("columns", "has 6 columns; the first chunk has 7"),
    ("dtype", "has entries of dtype float32; the first chunk has float64"),
    ("lacks", "lacks weights in a tuple with X"),
    ("text", "must hold real numbers"),
    ("short", "must have 1000 real numbers as y; got shape"),
    ("vector", "must be a matrix"),
]


@pytest.mark.parametrize(("how", "message"), BAD_CHUNKS)
def test_a_bad_chunk_is_named_and_what_was_done_stays(how, message):
    X, y, w = DATA
    chunks = spoiled(how)
    with pytest.raises(sl.BadChunk, match="^chunk 1 .*" + message) as raised:
        sl.compress(chunks)
    assert raised.value.chunk == 1
    assert (raised.value.problem().X == sl.compress([(X[:1000], y[:1000], w[:1000])]).X).all()
    problem = sl.compress(chunks, on_bad="skip")
    assert [number for number, _ in problem.compressed.skipped] == [1]
    assert problem.compressed.rows == np.count_nonzero(np.delete(w, slice(1000, 2000)))
    assert (problem.X == sl.compress([chunks[0], chunks[2]]).X).all()


def test_a_source_that_fails_and_sources_without_rows():
    X, y, _ = DATA

    def broken():
        yield from parts(X, y, size=1000)
        raise OSError("the disk is gone")

    with pytest.raises(sl.BadChunk, match=r"chunk 3 cannot be read: OSError: the disk is gone") as raised:
        sl.compress(broken(), on_bad="skip")
    assert raised.value.problem().compressed.rows == N
    refuses("no chunk that can be used; 0", sl.compress, [])
    refuses("no chunk that can be used; 2", sl.compress, ["a", "b"], on_bad="skip")
    refuses("weights must be positive", sl.compress, [(X, y, 0 * y)])


def without_rows_of_weight_zero(chunks):
    for chunk in chunks:
        if isinstance(chunk, tuple):
            used = chunk[2] > 0
            yield tuple(v[used] for v in chunk)
        else:
            yield {name: v[chunk["w"] > 0] for name, v in chunk.items()}


FORMS = "triples", "tables with levels", "a chunk without weight"


@pytest.mark.parametrize("held_out", [0, 5])
@pytest.mark.parametrize("form", [*FORMS, pytest.param("Dask", marks=pytest.mark.door("dask"))])
def test_rows_of_weight_zero_are_as_rows_that_are_not_there(form, held_out, tmp_path):
    X, y, w = DATA
    if form == "a chunk without weight":
        w = w.copy()
        w[700:1400] = 0
    options = {"intercept": True, "standardize": True, "held_out": held_out}
    chunks, source = list(parts(X, y, w)), None
    if form == "tables with levels":
        names = np.where(w > 0, np.where(X[:, 0] > 0, "b", "a"), "only in rows that do not count")
        chunks = [{"a": a, "c": c, "y": t, "w": v} for a, c, t, v in parts(X[:, 1], names, y, w)]
        options |= {"y": "y", "weights": "w", "categories": ["c"]}
    elif form == "Dask":
        import dask.array as da

        source = da.from_array(X, chunks=(700, D))
        options |= {"y": y, "weights": w}
    read = []
    record = {"checkpoint": tmp_path / "pass", "every": 1, "progress": read.append}
    ours = sl.compress(chunks if source is None else source, **options, **record)
    if form == "Dask":
        del options["y"], options["weights"]
        kept = list(without_rows_of_weight_zero(chunks))
        sizes = (tuple(len(chunk[0]) for chunk in kept), D)
        source = da.from_array(X[w > 0], chunks=sizes)
        theirs = sl.compress(source, y=y[w > 0], weights=w[w > 0], **options)
    else:
        theirs = sl.compress(without_rows_of_weight_zero(chunks), **options)
    assert ours.compressed.rows == theirs.compressed.rows
    assert ours.compressed.rows == pytest.approx(
        (1 - (1 / held_out if held_out else 0)) * (w > 0).sum(), abs=5
    )
    assert ours.compressed.levels == theirs.compressed.levels
    assert (ours.X == theirs.X).all()
    assert (ours.y == theirs.y).all()
    assert read[-1].rows == N
    if held_out:
        path = sl.omp(ours, 2)
        assert (ours.compressed.held_out_r2(path) == theirs.compressed.held_out_r2(path)).all()


def test_a_pass_with_rows_of_weight_zero_goes_on_from_its_checkpoint(tmp_path):
    X, y, w = DATA

    def broken():
        yield from list(parts(X, y, w))[:2]
        raise OSError("the disk is gone")

    with pytest.raises(sl.BadChunk):
        sl.compress(broken(), checkpoint=tmp_path / "pass", every=1)
    read = []
    ours = sl.compress(parts(X, y, w), checkpoint=tmp_path / "pass", progress=read.append)
    theirs = sl.compress(parts(X, y, w))
    assert (ours.X == theirs.X).all()
    assert ours.compressed == theirs.compressed
    assert [at.rows for at in read] == [2100, 2800, 3000]


@pytest.mark.parametrize("column", ["X", "y"])
def test_rows_of_weight_zero_must_be_finite_and_are_named_by_their_number(column):
    X, y, w = (v.copy() for v in DATA)
    w[:], w[[1, 4]] = 1, 0
    X[4, 2], y[4] = (np.nan, y[4]) if column == "X" else (X[4, 2], np.inf)
    name = "nan in column 2" if column == "X" else "inf in y"
    refuses(f"chunk 0 has {name}, row 4", sl.compress, parts(X, y, w))
    w[4] = 1
    refuses(f"chunk 0 has {name}, row 4", sl.compress, parts(X, y, w))


BAD_ARGUMENTS = [
    ({"y": 9}, ValueError, "y"),
    ({"y": None}, ValueError, "y must name a column"),
    ({"y": 1, "weights": 1}, ValueError, "same column"),
    ({"y": 1, "forced": [1]}, ValueError, "forced must be features"),
    ({"y": 1, "on_bad": "ignore"}, ValueError, "on_bad"),
    ({"y": 1, "held_out": 1}, ValueError, "held_out"),
    ({"y": 1, "memory": 1000}, ValueError, "memory must be at least"),
    ({"y": 1, "memory": 2.0**30}, TypeError, "memory must be an integer"),
    ({"y": np.ones(3)}, ValueError, r"shape \(3000,\)"),
    ({"weights": np.ones(N), "y": 1}, ValueError, "y as an array too"),
    ({"y": 1, "columns": [1]}, ValueError, "must have a column besides"),
]


@pytest.mark.parametrize(("options", "error", "message"), BAD_ARGUMENTS)
def test_arguments(options, error, message):
    refuses(message, sl.compress, DATA[0], error=error, **options)


def test_the_default_memory_is_enough_for_2600_columns():
    A = np.random.default_rng(0).standard_normal((60, 2600))
    problem = sl.compress(A, y=3, held_out=2)
    assert problem.compressed.rows == 30
    path = sl.omp(problem, 4)
    expected = sl.omp(np.delete(A, 3, axis=1)[::2], A[::2, 3], 4)
    assert path.support.tolist() == expected.support.tolist()
    np.testing.assert_allclose(path.coef, expected.coef, rtol=1e-10)


def test_few_columns_of_many_need_the_memory_of_few():
    A = np.random.default_rng(0).standard_normal((2000, 500))
    problem = sl.compress(A, y=3, columns=[1, 2], memory=24 * 6**2 + 4 * 8 * 500 * 1024)
    assert problem.compressed.chunks == 2


@pytest.mark.parametrize("memory", [None, 1000, 2**60])
@pytest.mark.parametrize("held_out", [0, 5])
def test_what_fits_into_no_memory_of_this_machine_is_refused(monkeypatch, memory, held_out):
    monkeypatch.setattr("sparselin.scale.sources.available", lambda: 1e5)
    with pytest.raises(MemoryError, match=r"source needs .* GiB: .* factors of 9 columns\. .* fewer columns"):
        sl.compress(DATA[0], y=1, memory=memory, held_out=held_out)


def test_a_source_of_no_kind():
    refuses("source must be an iterable", sl.compress, 3, y=0, error=TypeError)
    words = "may be arrays only if source is an array"
    refuses(words, sl.compress, iter([DATA[0]]), y=DATA[1], error=TypeError)


def test_a_truncated_memmap_is_named(tmp_path):
    """Reading beyond the end of the file would kill the process."""
    A = np.memmap(tmp_path / "A", np.float64, "w+", shape=(N, D))
    A[:] = DATA[0]
    A.flush()
    with open(tmp_path / "A", "r+b") as file:
        file.truncate(A.nbytes // 2)
    with pytest.raises(sl.BadChunk, match=r"chunk 0 \(rows 0\.\.2999\) cannot be read: .* was truncated"):
        sl.compress(A, y=0)


def test_ill_conditioned_data_need_the_factor(rng):
    """κ = 10⁸ and a consistent system: from R to 1e-7, from sums of squares not at all."""
    U = np.linalg.qr(rng.standard_normal((4000, 5)))[0]
    X = U * np.logspace(0, -8, 5) @ np.linalg.qr(rng.standard_normal((5, 5)))[0]
    X /= np.linalg.norm(X, axis=0)
    beta = np.arange(1.0, 6)
    path = sl.omp(sl.compress(parts(X, X @ beta)), 5)
    assert len(path) == 5
    assert np.abs(path.dense_coef() - beta).max() < 1e-7 * np.linalg.norm(beta)
    normal = np.linalg.solve(X.T @ X, X.T @ (X @ beta))
    assert np.abs(normal - beta).max() > 1e-3


def test_what_needs_rows_refuses():
    X, y, _ = DATA
    problem = sl.compress(parts(X, y))
    for call in (
        lambda: sl.generalized_omp(problem, None, 2, loss="logistic", intercept=True),
        lambda: sl.stability_selection(problem, k=2),
    ):
        refuses("rows", call, error=TypeError)
    refuses("holds no samples", sl.verify, problem, k=2)


def test_reading_ahead_keeps_one_chunk_and_passes_errors_on():
    made, used = [], []

    def items():
        for i in range(20):
            made.append(i)
            yield i
        raise OSError("the end")

    def use():
        for i in read_ahead(items()):
            used.append(i)
            assert len(made) <= i + 2

    refuses("the end", use, error=OSError)
    assert used == list(range(20))


def test_progress():
    X, y, _ = DATA
    seen = []
    sl.compress(X, y=y, memory=24 * 81 + 4 * 8 * D * 1024, progress=seen.append)
    assert [p.rows for p in seen] == [1024, 2048, 3000]
    assert [p.bytes for p in seen] == [8 * D * p.rows for p in seen]
    assert {p.total for p in seen} == {N}


def test_a_chunk_that_is_bad_in_its_second_block_leaves_nothing_of_its_first():
    X, y, _ = DATA
    chunks = [(X[:500], y[:500]), (X[500:], y[500:].copy())]
    chunks[1][1][2000] = np.nan
    problem = sl.compress(chunks, on_bad="skip")
    assert (problem.X == sl.compress(chunks[:1]).X).all()
    assert problem.compressed.rows == 500


def test_a_constant_column_of_a_long_chain_is_constant(rng):
    """The centred column holds the rounding errors of 4000 steps, which are larger than those of one."""
    X = rng.standard_normal((4000, 3))
    X[:, 1] = 0.1
    y = X[:, 0] + rng.standard_normal(4000)
    problem = sl.compress(parts(X, y, size=1), intercept=True, standardize=True)
    left = np.linalg.norm(problem.X[1:, 1])
    assert left > 12 * np.finfo(float).eps * np.linalg.norm(problem.X[:, 1])
    assert problem.design.scale[1] == 1
    path = sl.omp(problem, 3)
    assert 1 not in path.support
    assert path.status is sl.Status.RANK_EXHAUSTED


def test_arrays_begin_at_a_cache_line():
    assert not {factor.empty(k, 3).ctypes.data % 64 for k in range(1, 50)} - {0}


# A pass over chunks that was interrupted goes on from its checkpoint


@pytest.mark.parametrize("held_out", [0, 3])
def test_an_interrupted_pass_goes_on_to_the_same_bits(held_out, tmp_path):
    X, y, _ = DATA
    path = tmp_path / "pass.npz"
    options = {"intercept": True, "held_out": held_out, "checkpoint": path, "every": 2}
    expected = sl.compress(parts(X, y, size=200), intercept=True, held_out=held_out)

    def stop(progress):
        if progress.chunks == 5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sl.compress(parts(X, y, size=200), progress=stop, **options)
    seen = []
    problem = sl.compress(parts(X, y, size=200), progress=lambda p: seen.append(p.chunks), **options)
    assert seen[0] == 6
    assert (problem.X == expected.X).all()
    assert (problem.y == expected.y).all()
    if held_out:
        assert (problem.compressed.held_out.X == expected.compressed.held_out.X).all()
    refuses("another form of chunks", sl.compress, parts(X, y, size=200), checkpoint=path)
    path.write_bytes(b"nothing")
    refuses("is not the checkpoint of a pass", sl.compress, parts(X, y, size=200), **options)


def head(**fields):
    return np.array(json.dumps({"format": "sparselin pass 1", **fields}))


@pytest.mark.parametrize(
    "content",
    [b"", b"nothing", b"PK\3\4" + b"a" * 16, {}, {"head": np.array("[")}, {"head": np.array('["a"]')},
     {"head": np.eye(2)}, {"head": np.array("null")}, {"head": np.array('{"format": 1}')}, {"head": head()},
     {"head": head(parts=[], chunks=0)}, {"head": head(parts=[], chunks=0, form=0, identity=0)},
     {"head": head(parts=[{}], chunks=0, form=0, identity=0)}, {"head": head(parts=3, form=0, identity=0)},
     *(0.1, 0.5, 0.9, 0.99), "complex"],
    ids=str,
)  # fmt: skip
def test_what_is_no_checkpoint_is_named(tmp_path, content):
    """And what is there stays."""
    X, y, _ = DATA
    path = tmp_path / "pass.npz"
    if isinstance(content, dict):
        np.savez(path, **content)
    elif isinstance(content, bytes):
        path.write_bytes(content)
    else:
        sl.compress(parts(X, y, size=200), checkpoint=path)
        whole = path.read_bytes()
        if content == "complex":
            with np.load(path) as stored:
                arrays = dict(stored)
            np.savez(path, **arrays | {"R0": arrays["R0"] + 1j})
        else:
            path.write_bytes(whole[: int(content * len(whole))])
    before = path.read_bytes()
    words = r"pass\.npz is not the checkpoint of a pass: .*\. Choose another file, or delete it"
    refuses(words, sl.compress, parts(X, y, size=200), checkpoint=path)
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["pass.npz"]


def test_a_checkpoint_is_written_whole_and_to_its_place(tmp_path, monkeypatch):
    X, y, _ = DATA
    real, link = tmp_path / "real.npz", tmp_path / "link.npz"
    link.symlink_to(real)
    (tmp_path / "real.npz.part").write_text("mine")
    first = sl.compress(parts(X[:400], y[:400], size=200), checkpoint=link)
    assert link.is_symlink()
    stored = real.read_bytes()
    again = sl.compress(parts(X[:400], y[:400], size=200), checkpoint=link)
    assert (first.X == again.X).all()

    def full(file):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("sparselin.scale.checkpoint.os.fsync", full)
    words = r"the checkpoint cannot be written: No space left on device: .*real\.npz"
    refuses(words, sl.compress, parts(X, y, size=200), checkpoint=link, error=OSError)
    assert real.read_bytes() == stored
    assert {path.name for path in tmp_path.iterdir()} == {"real.npz", "link.npz", "real.npz.part"}
    assert (tmp_path / "real.npz.part").read_text() == "mine"


def test_a_checkpoint_needs_its_folder(tmp_path):
    def chunks():
        raise AssertionError("no row is read")
        yield

    with pytest.raises(FileNotFoundError, match=r"nowhere/ck must be in a folder that exists; there is no"):
        sl.compress(chunks(), checkpoint=tmp_path / "nowhere" / "ck")
