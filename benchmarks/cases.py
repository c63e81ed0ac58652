"""The rows of the table. To add a case, add an entry here; to add a peer, add a function to entrants.py."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from benchmarks import checks, designs, entrants, lassonet, measures, networks
from benchmarks.contest import Case, Entrant, Goal, Job, Outcome
from benchmarks.measures import Measure


def job(key: str, title: str, ours: Entrant, check: Callable[..., Outcome], *goals: Goal) -> Job:
    """Return a job; check(ours, data, answers) judges our entrant's answers."""
    return Job(key, title, ours, goals, partial(check, ours))


def picks(
    kind: str, words: str, ours: Entrant, key: str, name: str, *goals: Goal, eps: float = 2.0**-52
) -> Job:
    """Return the job of a method whose picks have to be those of OMP on one design."""
    return job(f"{kind}/{key}", f"{words}, {name}", ours, partial(checks.selects_like_omp, eps=eps), *goals)


def greedy(key: str, name: str, goals: tuple[Goal, ...], *, single: bool = False) -> tuple[Job, ...]:
    """Return the jobs of OMP, OLS and Sequential LASSO on one design; `single` adds OMP in float32."""
    omp, ols = entrants.our_omp, entrants.our_ols
    by_omp, by_lasso = entrants.our_sequential_by_omp, entrants.our_sequential
    jobs = (
        *omp_both_ways(key, name, goals),
        job(f"ols/{key}", f"OLS, {name}", ols, checks.selects_like_ols, Goal(entrants.spams_omp, 1)),
        picks("sequential-by-omp", "Sequential LASSO by OMP", by_omp, key, name, Goal(omp, 1 / 1.1)),
        picks("sequential", "Sequential LASSO", by_lasso, key, name, Goal(omp, 1 / 2)),
    )
    return (*jobs, single_precision(key, name)) if single else jobs


def omp_both_ways(key: str, name: str, goals: tuple[Goal, ...]) -> tuple[Job, ...]:
    """Return the jobs of OMP on X in C order, as in NumPy, and in Fortran order, as in a frame."""
    omp, by_columns = entrants.our_omp, entrants.our_omp_by_columns
    return (
        picks("omp", "OMP", omp, key, name, *goals),
        picks("fortran", "OMP in Fortran order", by_columns, key, name, Goal(omp, 1 / 1.15)),
    )


def single_precision(key: str, name: str) -> Job:
    """Return the job of OMP in float32."""
    goal = Goal(entrants.our_omp, 1.6)
    return picks("float32", "OMP in float32", entrants.our_omp_single, key, name, goal, eps=2.0**-23)


def path(key: str, title: str, *goals: Goal) -> Job:
    """Return the job of a LASSO path."""
    return job(f"path/{key}", f"LASSO path, {title}", entrants.our_path, checks.knots, *goals)


def projection(key: str, title: str, goals: tuple[Goal, ...]) -> Job:
    """Return the job of a projection on the dual polytope."""
    ours = entrants.our_projection
    return job(f"project/{key}", f"project_dual, {title}", ours, checks.projections, *goals)


BIG = {"n": 2000, "d": 20000, "k": 100}
TOY = {"n": 40, "d": 60, "k": 5}
BIG_GOALS = (Goal(entrants.sklearn_omp, 6, harder=8), Goal(entrants.gemvs, 3.5))
PARITY = Goal(entrants.sklearn_path, 1)
SMALL = {"n": 300, "d": 1000, "k": 20}
SMALL_GOALS = Goal(entrants.sklearn_omp, 2.5), Goal(entrants.spams_omp_alone, 1.2)
FLOW, PATH = entrants.our_flow, entrants.our_path
BY_GRAM = entrants.sklearn_gram_path
FORTRAN_GOALS = (Goal(entrants.sklearn_path_by_columns, 1), Goal(BY_GRAM, 1))
OF_DUAL = ("n", "d", "lam", "unpenalized")
SIGNAL, NOISE = designs.projection, designs.projection_of_noise
EVEN, HALF = (Goal(entrants.daqp_projection, 1),), (Goal(entrants.daqp_projection, 0.5),)
THREE_TIMES = (Goal(entrants.celer_projection, 3),)
AS_TEXTBOOK = Goal(entrants.textbook_omp, 1)
PER_CANDIDATE = entrants.eigenvalues_of_each

CASES: tuple[Case, ...] = (
    Case("noise", designs.noise, BIG, TOY).with_jobs(
        *greedy("noise", "noise", BIG_GOALS, single=True),
        path("noise", "noise", Goal(entrants.sklearn_path, 5)),
    ),
    Case("sparse signal", designs.sparse, BIG, TOY).with_jobs(
        *greedy("sparse", "sparse signal", BIG_GOALS, single=True), path("sparse", "sparse signal", PARITY)
    ),
    Case("noise, fewer columns", designs.noise, {"n": 1000, "d": 5000, "k": 50}, TOY).with_jobs(
        *omp_both_ways("noise-5000", "noise", (Goal(entrants.sklearn_omp, 2), Goal(entrants.gemvs, 1.4)))
    ),
    *(
        Case(f"flow, {name}", design, {"n": 1000, "d": 5000, "k": 100}, TOY).with_jobs(
            job(f"flow/{key}", f"gradient flow, {name}", FLOW, checks.flow, Goal(PATH, 1 / 3))
        )
        for key, name, design in (
            ("sparse", "sparse signal", designs.sparse),
            ("noise", "noise", designs.noise),
        )
    ),
    Case("AR(1)", designs.ar1, {"n": 5000, "d": 2000, "k": 100}, {"n": 60, "d": 40, "k": 5}).with_jobs(
        *greedy("ar1", "AR(1)", (Goal(entrants.sklearn_omp, 2.5), Goal(entrants.gemvs, 1.5)))
    ),
    Case(
        "AR(1), more columns", designs.ar1, {"n": 5000, "d": 3000, "k": 100}, {"n": 60, "d": 40, "k": 5}
    ).with_jobs(*omp_both_ways("ar1-3000", "AR(1)", (Goal(entrants.gemvs, 0.9),))),
    Case("random walk", designs.random_walk, {"n": 1000, "d": 5000, "k": 50}, TOY).with_jobs(
        *greedy("random-walk", "random walk", (Goal(entrants.sklearn_omp, 1.8), Goal(entrants.gemvs, 1.2))),
        path("random-walk", "random walk", Goal(entrants.sklearn_path, 1.5)),
    ),
    Case("tiny", designs.sparse, {"n": 100, "d": 30, "k": 10}, {"n": 40, "d": 20, "k": 3}).with_jobs(
        *omp_both_ways("tiny", "sparse signal", (Goal(entrants.sklearn_omp, 5),)),
        path("tiny", "sparse signal", Goal(entrants.sklearn_path, 5)),
    ),
    Case("small", designs.sparse, SMALL, TOY).with_jobs(
        *greedy("small", "sparse signal", SMALL_GOALS),
        path("small", "sparse signal", Goal(entrants.sklearn_path, 3)),
    ),
    *(
        Case(
            f"estimator {n} × {d}", designs.sparse, {"n": n, "d": d, "k": k}, {"n": 40, "d": 20, "k": 3}
        ).with_jobs(
            job(
                f"estimator/{n}x{d}",
                "OrthogonalMatchingPursuit",
                entrants.our_estimator,
                partial(checks.coefficients, other=entrants.our_centred_omp),
                Goal(entrants.our_centred_omp, least),
            )
        )
        for n, d, k, least in ((2000, 20000, 50, 1 / 1.1), (300, 30, 10, 0.4))
    ),
    *(
        Case(f"complex, {n} × {d}", designs.complex_signal, {"n": n, "d": d, "k": 20}, TOY).with_jobs(
            job(f"complex/{key}", "OMP, complex128", entrants.our_omp, checks.selects_like_omp, AS_TEXTBOOK)
        )
        for key, n, d in (("omp", 1000, 4000), ("small", 400, 1200))
    ),
    Case(
        "groups",
        designs.column_groups,
        {"n": 600, "d": 2000, "k": 20, "size": 5},
        {"n": 40, "d": 60, "k": 4, "size": 5},
    ).with_jobs(job("groups/omp", "OMPSelector, groups of 5", entrants.our_groups, checks.selects_groups)),
    Case(
        "OLS, centred", designs.centred_signal, {"n": 2000, "d": 2000, "k": 20}, {"n": 60, "d": 40, "k": 5}
    ).with_jobs(
        job(
            "ols/centred",
            "OLS, centred sparse signal",
            entrants.our_ols,
            checks.selects_like_ols,
            Goal(entrants.fastcan_ols, 8),
        )
    ),
    Case("many rows", designs.noise, {"n": 8000, "d": 500, "k": 50}, {"n": 60, "d": 20, "k": 5}).with_jobs(
        picks("omp", "OMP", entrants.our_omp, "rows", "noise", Goal(entrants.sklearn_omp, 1))
    ),
    Case("long columns", designs.noise, {"n": 5000, "d": 200, "k": 50}, {"n": 60, "d": 20, "k": 5}).with_jobs(
        job("ols/rows", "OLS, noise", entrants.our_ols, checks.selects_like_ols, Goal(entrants.spams_omp, 1))
    ),
    Case(
        "OLS, dependent integers",
        designs.dependent_integers,
        {"n": 20, "d": 16, "rank": 10, "designs": 60},
        {"n": 12, "d": 10, "rank": 5, "designs": 20},
    ).with_jobs(
        job(
            "dependent/ols",
            "OLS up to the rank, dependent integer columns",
            entrants.our_ols_of_each,
            partial(checks.selects_of_each_like_ols, other=entrants.fastcan_ols_of_each),
            Goal(entrants.fastcan_ols_of_each, 1),
        )
    ),
    Case("SINDy", designs.sparse, {"n": 2000, "d": 100, "k": 10}, TOY).with_jobs(
        job(
            "sindy/reduce",
            "one equation of pysindy, selection",
            entrants.our_reduce,
            checks.selects_like_ols,
            Goal(entrants.frols_reduce, 50),
        ),
        job(
            "sindy/fit",
            "one equation of pysindy, whole fit",
            entrants.our_sindy_fit,
            checks.selects_like_ols,
            Goal(entrants.empty_sindy_fit, 1 / 1.3),
        ),
    ),
    Case("OMP-CV", designs.sparse, {"n": 2000, "d": 5000, "k": 50}, TOY).with_jobs(
        job(
            "omp-cv/5000",
            "OrthogonalMatchingPursuitCV, 5 folds",
            entrants.our_omp_cv,
            partial(checks.coefficients, other=entrants.sklearn_omp_cv),
            Goal(entrants.sklearn_omp_cv, 5),
        )
    ),
    *(
        Case(
            f"batch {n} × {d}",
            designs.dictionary,
            {"n": n, "d": d, "signals": signals, "k": k},
            {"n": 16, "d": 32, "signals": 40, "k": 3},
        ).with_jobs(
            job(
                f"batch/{n}x{d}",
                "batch OMP",
                entrants.our_batch,
                checks.batch,
                Goal(entrants.spams_batch, least),
            )
        )
        for n, d, signals, k, least in (
            (64, 256, 20000, 10, 2),
            (100, 1000, 5000, 20, 2),
            (256, 1024, 5000, 32, 1),
            (512, 2048, 1000, 64, 1),
        )
    ),
    Case(
        "AR(1) path", designs.ar1_path, {"n": 5000, "d": 1000, "steps": 200}, {"n": 60, "d": 30, "steps": 10}
    ).with_jobs(path("ar1", "AR(1)", Goal(entrants.sklearn_path, 4))),
    Case("tall", designs.tall, {"n": 100_000, "d": 2000, "k": 50}, {"n": 400, "d": 30, "k": 5}).with_jobs(
        *(
            job(key, f"LASSO path, float32, {order} order", ours, partial(checks.knots, bound=1e-5), *goals)
            for key, order, ours, *goals in (
                ("tall/path", "C", PATH, Goal(entrants.sklearn_path, 1), Goal(BY_GRAM, 1)),
                ("tall/path-fortran", "Fortran", entrants.our_path_by_columns, *FORTRAN_GOALS),
            )
        ),
        job(
            "tall/omp",
            "OMP, float32, intercept and standardize",
            entrants.our_standardized_omp,
            partial(checks.selects_like_standardized_omp, eps=2.0**-23),
            Goal(entrants.our_omp, 1 / 1.3),
        ),
    ),
    Case("whole path", designs.whole_path, {"n": 200, "d": 500}, {"n": 15, "d": 30}).with_jobs(
        path("whole", "noise, to λ = 0", Goal(entrants.cvxcla_path, 20))
    ),
    *(
        Case(
            name, design, dict(zip(OF_DUAL, size, strict=False)), dict(zip(OF_DUAL, toy, strict=False))
        ).with_jobs(projection(key, words, goals))
        for name, key, words, design, size, toy, goals in (
            ("projection 0.3", "0.3", "signal", SIGNAL, (200, 1000, 0.3, 0.05), (20, 40, 0.3, 0.05), EVEN),
            ("projection 0.05", "0.05", "signal", SIGNAL, (200, 1000, 0.05, 0.05), (20, 40, 0.3, 0.05), EVEN),
            ("small projection", "small", "signal", SIGNAL, (100, 300, 0.5), (20, 40, 0.3), HALF),
            ("projection of noise", "noise", "noise", NOISE, (200, 1000, 0.3, 0.05), (20, 40, 0.3, 0.05), ()),
            ("wide projection", "wide", "signal", SIGNAL, (500, 5000, 0.3), (20, 60, 0.3), THREE_TIMES),
        )
    ),
    Case(
        "spectral", designs.image_like, {"n": 1000, "d": 784, "k": 50}, {"n": 30, "d": 20, "k": 4}
    ).with_jobs(
        job(
            "spectral/log-det",
            "log-determinant greedy",
            entrants.our_log_det,
            partial(
                checks.maximizes, h=lambda values: np.log2(0.1 + values), others=(entrants.submodlib_log_det,)
            ),
            Goal(PER_CANDIDATE, 100),
            Goal(entrants.submodlib_log_det, 1),
        ),
        job(
            "spectral/variance",
            "spectral variance greedy",
            entrants.our_variance,
            partial(checks.maximizes, h=lambda values: -((values - 1) ** 2)),
            Goal(PER_CANDIDATE, 100),
        ),
        job(
            "spectral/rank",
            "generalized rank greedy, α = ½",
            entrants.our_rank,
            partial(checks.maximizes, h=lambda values: np.sqrt(values * (values > 1e-12))),
            Goal(PER_CANDIDATE, 10),
        ),
    ),
    *(
        Case(
            f"best subset {d}, {k}",
            designs.half_noise,
            {"n": 200, "d": d, "k": k},
            {"n": 30, "d": 12, "k": 4},
        ).with_jobs(
            job(
                f"best-subset/{d}-{k}",
                f"best subset of {k}",
                entrants.our_best_subset,
                partial(checks.best_subset, other=entrants.abess_subset),
            )
        )
        for d, k in ((40, 10), (100, 5))
    ),
    Case("formulas", designs.formulas, {"n": 200, "d": 100, "k": 3}, {"n": 30, "d": 12, "k": 2}).with_jobs(
        job(
            "formulas/100-3",
            "best three of 100 generated features",
            entrants.our_best_subset,
            partial(checks.best_subset, other=entrants.torch_sisso),
            Goal(entrants.torch_sisso, 100),
        )
    ),
    Case(
        "CSC", designs.sparse_matrices, {"n": 20000, "d": 20000, "k": 50}, {"n": 200, "d": 200, "k": 3}
    ).with_jobs(
        job("csc/1%", "OMP, CSC at 1 %", entrants.ONE, checks.selects_like_omp),
        # two and four times the nonzeros may take two and four times as long, plus a fifth
        Job(
            "csc/nnz",
            "OMP, CSC at ½ %",
            entrants.HALF,
            (Goal(entrants.ONE, at_most=2 * 1.2), Goal(entrants.TWO, at_most=4 * 1.2)),
        ),
    ),
)

IMPORT_NUMBA = partial(measures.import_time, modules="numpy, numba")
AFTER_NUMBA = partial(measures.warm_start, before=measures.AFTER_NUMBA)
ONE_LINE = "a cached Numba function of one line"
# The arguments of the public functions that compile kernels, and the most seconds of a first call.
COLD = {
    "X, y, 3": "omp ols sequential_lasso window_ratios best_subset guarantee_bounds sequential_attention "
    "forward_regression swaps verify stability_selection",
    "X, y": "lambda_star first_entry lasso_path gradient_flow knockoffs",
    "X, y, 1.0": "project_dual hadamard_descent",
    "X, y[:, None], 3": "batch_omp",
    "X, y, 2, eps=0.1": "subsets_within",
    "X, y, (0, 1), 3": "submodularity_ratio",
    "X, 3": "sparse_eigenvalues",
    "X, y > 0, 3, loss='logistic'": "generalized_omp",
    "X[0], X.T, lam=0.1, M=1.0": "hier_prox",
    "abs(X)": "softmax_penalty",
    "X, y, sl.omp(X, y, 3)": "inference leave_one_out",
    "X, y, sl.omp(X, y, 3), 0": "explain",
    "X, y, sl.sequential_lasso(X, y, 3)": "certify",
    "X, y, 2, sl.spectral.GeneralizedRank(0.5)": "choose_nu",
    "X, y, regularizer=sl.spectral.GeneralizedRank(0.5)": "local_search",
}
COLD_SECONDS = {"omp": 0.5, "guarantee_bounds": 4.0}
COLD_FORMS = {
    "float32": "(X.astype('f4'), y.astype('f4')",
    "fortran": "(np.asfortranarray(X), y",
    "standardize": "(sl.Problem(X, y, intercept=True, standardize=True)",
}


def cold_calls() -> Iterator[tuple[str, str, float, dict[str, Any]]]:
    """Yield the name, title, goal and call of each row: public functions, and data in other forms."""
    for arguments, names in COLD.items():
        for name in names.split():
            yield name, "first call", COLD_SECONDS.get(name, 2.0), {"call": f"{name}({arguments})"}
    for form, data in COLD_FORMS.items():
        for name, rest in (("omp", ", k=3)"), ("lasso_path", ")")):
            yield f"{name}-{form}", "first call", COLD_SECONDS.get(name, 2.0), {"call": name + data + rest}
    yield "omp-later", "calls 2 to 10", 1.0, {"call": "omp(X, y, 3)", "later": 9}


MEASURES: tuple[Measure, ...] = (
    *(
        Measure(
            key=f"sweep/{n}x{d}x{k}",
            title=f"verification of small Gaussian designs {n} × {d}, k = {k}, seconds per million",
            unit="s",
            take=measures.sweep,
            at_most=at_most,
            size={"n": n, "d": d, "k": k, "designs": 100_000},
            toy={"n": 20, "d": 30, "k": 3, "designs": 20},
            needs="proofs_checks.gaussian_sweep:sweep_gaussian",
        )
        for n, d, k, at_most in ((40, 80, 8, 30.0), (60, 120, 10, 60.0))
    ),
    *(
        Measure(
            key=f"{name}/{n}x{d}x{k}" + "-ridge" * bool(options),
            title=f"best subset with proof, {n} × {d}, k = {k}" + ", ridge 1, box 2" * bool(options),
            unit="s",
            take=measures.best_subset,
            at_most=at_most,
            size={"data": data, "n": n, "d": d, "k": k, **options},
            toy={"data": data, "n": 20, "d": 10, "k": 3, **options},
            needs="sparselin:best_subset",
        )
        for name, data, options, n, d, k, at_most in (
            ("best-subset", "half_noise", {}, 200, 40, 10, 10.0),
            ("best-subset", "half_noise", {}, 200, 100, 5, 30.0),
            ("best-subset", "half_noise", {}, 200, 60, 15, 10.0),
            ("best-subset", "half_noise", {}, 200, 200, 5, 60.0),
            ("best-subset", "half_noise", {}, 100, 500, 3, 10.0),
            ("formulas", "formulas", {}, 200, 20_000, 2, 30.0),
            ("formulas", "formulas", {}, 200, 20_000, 3, 300.0),
            ("subset", "frontier_instance", {}, 3000, 1000, 10, 10.0),
            ("subset", "frontier_instance", {}, 2000, 1000, 10, 10.0),
            *(
                ("subset", "frontier_instance", {"ridge": 1.0, "box": 2.0}, d, d, 10, most)
                for d, most in ((1000, 60.0), (2000, 120.0), (4000, 120.0))
            ),
        )
    ),
    *(
        Measure(
            key=f"networks/attention-{form}-{network}",
            title=f"Sequential Attention {words}, over plain training, {on}",
            unit="",
            take=networks.attention_cost,
            at_most=at_most,
            size={"n": n, "k": 2, "network": network, "folded": form == "folded", "source": "mnist"},
            toy={"n": 600, "k": 2, "network": network, "folded": form == "folded", "source": "digits"},
            needs="torch",
        )
        for form, network, n, at_most, words, on in (
            ("folded", "mlp", 60_000, 1.15, "folded", "MNIST, 67 hidden units"),
            ("layer", "mlp", 60_000, 1.4, "as a layer", "MNIST, 67 hidden units"),
            ("layer", "deep", 20_000, 1.4, "as a layer", "MNIST, three hidden layers"),
            ("layer", "conv", 3_000, 1.4, "as a layer", "MNIST, two convolutions"),
        )
    ),
    *(
        Measure(
            key=f"networks/lassonet-{data}{'-matched' if matched else ''}",
            title=f"LassoNet's path over lassonet's, {name}, {'same problem' if matched else 'same λ'}",
            unit="",
            take=lassonet.path_cost,
            at_most=0.5,
            size={"data": data, "rows": rows, "growth": 1.1, "epochs": (200, 50), "matched": matched},
            toy={"data": "digits", "rows": 200, "growth": 2.0, "epochs": (20, 5), "matched": matched},
            needs="lassonet",
        )
        for data, rows, name in (("isolet", 6238, "ISOLET"), ("mnist", 10_000, "MNIST, 10,000 rows"))
        for matched in (False, True)
    ),
    *(
        Measure(
            key=f"networks/lassonet-dense-{data}",
            title=f"LassoNet's dense network over lassonet's, {name}",
            unit="",
            take=lassonet.dense_cost,
            size={"data": data, "rows": rows, "epochs": (50, 1)},
            toy={"data": "digits", "rows": 200, "epochs": (5, 1)},
            needs="lassonet",
        )
        for data, rows, name in (("isolet", 6238, "ISOLET"), ("mnist", 10_000, "MNIST, 10,000 rows"))
    ),
    *(
        Measure(
            key=f"networks/gains-{k}",
            title=f"Spearman's correlation of attention and marginal gains, digits, after {k} pixels",
            unit="",
            take=networks.gains_on_digits,
            size={"k": k, "epochs": 40, "repeats": 5},
            toy={"k": 0, "epochs": 8, "repeats": 1},
            needs="torch",
        )
        for k in (0, 9, 49)
    ),
    Measure(
        key="memory/omp",
        title="peak of the extra memory of OMP, as a share of X, 1000 × 20000, k = 100",
        unit="",
        take=measures.memory,
        at_most=0.3,
        size={"n": 1000, "d": 20000, "k": 100},
        toy={"n": 100, "d": 2000, "k": 10},
    ),
    *(
        Measure(key=f"start/{key}", title=title, unit="s", take=take, at_most=at_most)
        for key, at_most, take, title in (
            ("import", 0.4, measures.import_time, "import sparselin"),
            ("import-numba", None, IMPORT_NUMBA, "part of that: import numpy, numba"),
            ("warm", 0.25, measures.warm_start, "first omp less second, kernels cached"),
            ("warm-numba", None, measures.numba_start, f"part of that: {ONE_LINE}, first call less second"),
            ("warm-ours", None, AFTER_NUMBA, "first omp less second, after that function"),
        )
    ),
    *(
        Measure(
            key=f"cold/{key}",
            title=f"{words} with an empty cache, {key}",
            unit="s",
            take=measures.cold_call,
            at_most=at_most,
            size=size,
            toy=size,
        )
        for key, words, at_most, size in cold_calls()
    ),
)
