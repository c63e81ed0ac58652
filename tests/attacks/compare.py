"""python -m tests.attacks.compare A B: whether two commits give the same answers on hard designs.

Every method gets every design as `attacks.make` draws it, and, by turns of the seed, with options or as one
of the other kinds of data in `KINDS`. The code of this checkout draws it; `sparselin` is that of the commit,
in a process of its own. Words, integers, indices and statuses must be equal, errors in type and first line,
and numbers to

    64·eps·κ² (at most 1e-3) of the largest number in their field,

κ the condition of the columns that were used, scaled to length 1: so far may rounding of the data move a
least squares solution. The table counts answers (or errors) that are the same to the last bit, that differ
in numbers within this bound ("rounding"), and others. Each commit is unpacked once, into a temporary folder,
where its compiled kernels stay.
"""

import argparse
import contextlib
import dataclasses
import enum
import json
import os
import signal
import subprocess
import sys
import tempfile
import warnings
from collections import Counter, defaultdict
from functools import partial
from pathlib import Path

import numpy as np
import scipy.sparse
from scipy.sparse.linalg import aslinearoperator

import sparselin as sl

from .__main__ import say
from .attacks import ATTACKS, make
from .designs import FAMILIES
from .gram import condition
from .options import arguments
from .oracles import C
from .paths import asked
from .run import Late, within

ROOT = Path(__file__).parents[2]
SAME, ERROR, ROUNDING, DIFFERENT = VERDICTS = ("same", "same error", "rounding", "different")
INDICES = ("support", "features", "active")  # the fields that hold the columns of an answer
# Counts of a search, errors that are rounding alone, and names.
LEFT_OUT = ("nodes", "n_redone", "optimality", "duality_gap", "names")


def along(name, of_y=None, **fixed):
    """Return a method that selects k features, for y or a function of the case's."""
    return lambda X, y, case, **options: getattr(sl, name)(
        X, of_y(case.y) if of_y else y, asked(case), forced=case.forced, **fixed | options
    )


def at_once(name, **fixed):
    """Return a method without k."""
    return lambda X, y, case, **options: getattr(sl, name)(X, y, forced=case.forced, **fixed, **options)


def project_dual(X, y, case):
    lam = case.rng().uniform(0.01, 1.05) * np.abs(case.X.T @ case.y).max()
    return sl.project_dual(X, y if y is not None else X.y, float(lam), forced=case.forced)


def batch_omp(X, y, case):
    Y = np.column_stack([y, -2 * y, np.roll(y, 1)] if y is not None else [case.y])
    return sl.batch_omp(X, Y, max(1, asked(case) - len(case.forced)))


def group_omp(X, y, case, of_y=None, intercept=False, sample_weight=None, **options):
    """Pairs of columns; for odd seeds two outputs, unless the response is a function of y."""
    numbers = np.arange(case.X.shape[1]) // 2
    Y = np.column_stack([case.y, np.roll(case.y, 1)]) if case.seed % 2 and not of_y else case.y
    options |= {"forced": case.forced, "fit_intercept": intercept or of_y is not None}
    selector = sl.estimators.OMPSelector(int(numbers.max()) // 2 + 1, groups=numbers, **options)
    return selector.fit(X, of_y(Y) if of_y else Y, sample_weight).path_


# name → (the attack as for which its designs are drawn, the call)
METHODS = {name: (name, along(name)) for name in ("omp", "ols", "sequential_lasso", "forward_regression",
                                                  "best_subset", "swaps")}  # fmt: skip
METHODS |= {name: (name, at_once(name)) for name in ("first_entry", "lambda_star", "lasso_path")}
METHODS |= {
    "omp tol": ("omp", along("omp", tol=0.3)),
    "omp positive": ("omp", along("omp", positive=True)),
    "sequential_lasso_omp": ("sequential_lasso_omp", along("sequential_lasso", method="omp")),
    "lasso_path positive": ("lasso_path", at_once("lasso_path", positive=True)),
    "gradient_flow": ("lasso_path", at_once("gradient_flow")),
    "project_dual": ("project_dual", project_dual),
    "batch_omp": ("batch_omp", batch_omp),
    "group_omp": ("omp", group_omp),
    "sequential_attention": ("sequential_attention", along("sequential_attention", max_iter=300)),
}
OF_Y = {"logistic": lambda y: y > np.median(y), "poisson": lambda y: np.rint(np.abs(y)).clip(0, 99)}
for loss, of_y in OF_Y.items():
    METHODS[loss] = "omp", along("generalized_omp", of_y, loss=loss, intercept=True)
    METHODS[f"group {loss}"] = "omp", partial(group_omp, of_y=of_y, loss=loss)


def gram(case):
    X, y = case.X.astype(np.float64), case.y.astype(np.float64)
    return sl.Problem.from_gram(X.T @ X, X.T @ y, float(y @ y)), None


def in_complex(dtype, form=np.asarray):
    """X and y, and themselves shifted by a column, or a row, as their imaginary parts."""
    return lambda case: (form((case.X + 1j * np.roll(case.X, 1, axis=1)).astype(dtype)),
                             (case.y + 1j * np.roll(case.y, 1)).astype(dtype))  # fmt: skip


def at_problem(case):
    """Return a case with an array, and with the options that every method has."""
    chosen = tuple(name for name in case.options if name in ("weights", "intercept", "standardize"))
    form = case.form if case.form in ("sparse", "F") else "C"
    return dataclasses.replace(case, form=form, options=chosen)


def as_drawn(case):
    return case.given(), case.y


KINDS = {
    "gram": gram,
    "operator": lambda case: (aslinearoperator(case.X), case.y),
    "compressed": lambda case: (sl.compress(case.X, y=case.y), None),
    "complex64": in_complex(np.complex64),
    "complex128": in_complex(np.complex128),
    "complex sparse": in_complex(np.complex128, scipy.sparse.csc_array),
}


def work(designs, first, families, methods):
    """Write a line for each call: what is called, on which case, and its record."""
    assert Path(sl.__file__).parents[1] == Path.cwd()
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # ends when nobody reads
    for i in range(designs):
        family, seed = families[i % len(families)], first + i // len(families)
        for method in methods:
            attack, call = METHODS[method]
            case = make(family, attack, seed)
            calls = {"float32" if case.X.dtype == np.float32 else case.form: case}
            kind = (*KINDS, "options")[seed % (len(KINDS) + 1)]
            if kind in KINDS or f"{attack}+options" in ATTACKS:
                calls[kind] = case if kind in KINDS else at_problem(make(family, f"{attack}+options", seed))
            for kind, case in calls.items():
                names = method, kind, f"--family {family!r} --method {case.method} --seed {seed}"
                say(json.dumps([names, record(call, case, KINDS.get(kind, as_drawn))], default=plain))


def record(call, case, data):
    """The fields of an answer, and the bound on their errors; or the error."""
    try:
        with within(600), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            X, y = data(case)
            found = call(X, y, case, **arguments(case))
    except (Exception, Late) as error:
        return {"error": f"{type(error).__name__}: {error}".partition("\n")[0]}
    A = X.toarray() if scipy.sparse.issparse(X) else X if isinstance(X, np.ndarray) else case.X
    fields = plain(found) if dataclasses.is_dataclass(found) else {"value": found}
    used = next((getattr(found, name) for name in INDICES if hasattr(found, name)), ())
    unit = C * float(np.finfo(A.dtype).eps)
    A = A[:, sorted({int(j) for j in (*np.ravel(used), *case.forced) if j >= 0})]
    if "intercept" in case.options:
        A = np.column_stack([A, np.ones(len(A))])
    return fields | {"bound": min(1e-3, float(unit * condition(A) ** 2))}


def plain(value):
    """Return a value for JSON."""
    if dataclasses.is_dataclass(value):
        fields = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
        return {name: field for name, field in fields.items() if name not in LEFT_OUT}
    if isinstance(value, complex):
        return [value.real, value.imag]
    return value.name if isinstance(value, enum.Enum) else value.tolist()


def compared(old, new):
    """Return a verdict on two records, and the first field that differs beyond the bound, with its values."""
    bound, verdict = max(r.pop("bound", 0.0) for r in (old, new)), ERROR if "error" in old else SAME
    for name in {**old, **new}:
        before, after = (json.dumps(r.get(name)) for r in (old, new))
        if before != after:
            (words, a), (others, b) = apart(before), apart(after)
            error = bound * max((abs(x) for x in (*a, *b) if np.isfinite(x)), default=0.0)
            if words != others or len(a) != len(b) or not np.allclose(a, b, 0, error, equal_nan=True):
                return DIFFERENT, f"{name}: {before[:90]} → {after[:90]}"
            verdict = ROUNDING
    return verdict, ""


def apart(text):
    """Return a value, read from JSON, without its floats, and these."""
    floats = []
    words = json.loads(text, parse_float=floats.append, parse_constant=floats.append)
    return words, [float(number) for number in floats]


def tree(commit):
    """Return the folder of a commit's package, whose files have its time, so that kernels stay valid."""
    name = subprocess.check_output(["git", "rev-parse", f"{commit}^0"], cwd=ROOT, text=True).strip()
    folder = Path(tempfile.gettempdir(), f"sparselin-compare-{os.getuid()}", name)
    if not folder.exists():
        folder.parent.mkdir(exist_ok=True)
        fresh = tempfile.mkdtemp(dir=folder.parent)
        subprocess.check_call(f"git archive {name} sparselin | tar -x -C {fresh}", cwd=ROOT, shell=True)
        os.rename(fresh, folder)
    return folder


def worker(commit, *chosen):
    code = f"from tests.attacks import compare; compare.work(*{chosen!r})"
    return subprocess.Popen([sys.executable, "-c", code], cwd=tree(commit), stdout=subprocess.PIPE, text=True,
                            env=os.environ | {"PYTHONPATH": str(ROOT)}, start_new_session=True)  # fmt: skip


def main():
    parser = argparse.ArgumentParser(prog="python -m tests.attacks.compare", description=__doc__)
    add = parser.add_argument
    add("commits", nargs=2, help="by any name that git knows")
    add("--designs", type=int, default=2000, help="the families taking turns (default 2000)")
    add("--seed", type=int, default=0, help="of the first designs, the next following (default 0)")
    add("--method", action="append", choices=list(METHODS), help="this one alone; may be given again")
    given = parser.parse_args()
    chosen = given.designs, given.seed, sorted(FAMILIES), given.method or list(METHODS)
    count, different = defaultdict(Counter), []
    workers = [worker(commit, *chosen) for commit in given.commits]
    # interrupted, it reports what was done
    with workers[0], workers[1], contextlib.suppress(KeyboardInterrupt):
        for lines in zip(workers[0].stdout, workers[1].stdout, strict=False):
            ((method, kind, case), old), (_, new) = map(json.loads, lines)
            verdict, words = compared(old, new)
            count[method, kind][verdict] += 1
            if verdict == DIFFERENT:
                different.append(f"{method}, {kind}: {case} --cases 1: {words}")
    count["all", ""] = sum(count.values(), Counter())
    say(f"{'':36}" + "".join(f"{title:>11}" for title in ("calls", *VERDICTS)))
    for (method, kind), verdicts in count.items():
        numbers = "".join(f"{verdicts[name]:>11}" for name in VERDICTS)
        say(f"{method:>20} {kind:>15}{verdicts.total():>11}{numbers}")
    say("\n".join(different))
    return 1 if different else max(abs(process.returncode) for process in workers)


if __name__ == "__main__":
    sys.exit(main())
