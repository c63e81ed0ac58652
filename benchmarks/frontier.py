"""Compare best subsets that are proved optimal with those of other solvers.

Each entrant runs in a process of its own, and a peer in an environment of its own, because licences and
versions clash. For example:

    python -m benchmarks.frontier --n 3000 --d 500 --rho 0.9 --entrants ours okridge=/path/to/python

A process reads X, y and the case from an .npz file, and writes one line of JSON. All values and bounds are
in units of ‖y − Xβ‖² + ridge·‖β‖², and the gap of all entrants is 1 − lower_bound/objective. `--output`
stores the answers, and `--judge` compares those that an entrant calls optimal with our certificates.
"""

import argparse
import contextlib
import io
import json
import math
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

ROOT = Path(__file__).parent.parent
CASE = {"n": 3000, "d": 500, "k": 10, "rho": 0.9, "snr": 5.0, "ridge": 0.0, "box": 0.0, "gap": 1e-4}
HEADER = "| case | entrant | s, median | s, worst | proved | gap, median (worst) | errors |\n|" + 7 * "---|"
Answer = tuple[Any, float, bool]  # β, a lower bound (0 without a proof), whether the entrant calls β optimal


def ours(p: SimpleNamespace) -> Answer:
    """Run `sparselin.best_subset`."""
    import sparselin as sl

    limits = {"gap": p.gap, "time_limit": p.time_limit}
    best = sl.best_subset(p.X, p.y, p.k, ridge=p.ridge, box=p.box or None, **limits)
    return best.dense_coef(), best.lower_bound, best.optimal or best.gap <= p.gap


def okridge(p: SimpleNamespace) -> Answer:
    """Run OKRidge, which has no box; its tolerance is such that the gap in our units is `p.gap`.

    OKRidge leaves out ‖y‖², and its gap is relative to the value without it. A first call, in which the time
    is over at once, gives the value of its starting set; the second call keeps the sets of that one.
    """
    from okridge.tree import BNBTree

    square = float(p.y @ p.y)
    tree = BNBTree(p.X, p.y, lambda2=p.ridge, max_memory_GB=16)
    tree.upper_solver_with_cache.max_saved_solutions = 4 * 2**30 // (9 * p.X.shape[1])
    value = tree.solve(p.k, time_limit=-1)[0]
    tolerance = p.gap * (square + value) / abs(value)
    value, beta, gap, lower, _ = tree.solve(p.k, gap_tol=tolerance, time_limit=p.time_limit)
    return beta, square + lower, bool(gap <= tolerance)


def l0bnb(p: SimpleNamespace) -> Answer:
    """Run L0BnB on its own problem, ½‖y − Xβ‖² + λ₀‖β‖₀ + (ridge/2)‖β‖² with |β_j| ≤ box.

    λ₀ is the geometric mean of the gains of steps k and k + 1 of OMP, and the k steps are the start. Without
    a box, the bound on |β_j| is 1.2 times their largest coefficient, as in the path of the package. A bound
    on this problem minus λ₀k is a bound on the problem with k features in the box.
    """
    from l0bnb import BNBTree

    S, values, betas = list[int](), [float(p.y @ p.y) / 2], [np.zeros(p.X.shape[1])]
    for _ in range(p.k + 1):
        S.append(int(np.argmax(np.abs(p.X.T @ (p.y - p.X @ betas[-1])))))
        betas.append(np.zeros(p.X.shape[1]))
        betas[-1][S] = np.linalg.lstsq(p.X[:, S], p.y, rcond=None)[0]
        values.append(float(np.square(p.y - p.X @ betas[-1]).sum()) / 2)
    l0 = math.sqrt((values[-3] - values[-2]) * (values[-2] - values[-1]))
    box = p.box or 1.2 * float(np.abs(betas[-2]).max())
    tolerance = p.gap * values[-2] / (values[-2] + l0 * p.k)
    options = {"gap_tol": tolerance, "warm_start": betas[-2], "time_limit": p.time_limit}
    best = BNBTree(p.X, p.y).solve(l0, p.ridge / 2, box, **options)
    lower = 2 * (best.cost * (1 - max(best.gap, 0.0)) - l0 * p.k)
    return best.beta, lower, bool(best.gap <= tolerance or best.sol_time < p.time_limit)


def abess(p: SimpleNamespace) -> Answer:
    """Run the splicing of abess, which proves nothing and has neither this ridge nor a box."""
    from abess import LinearRegression

    model = LinearRegression(support_size=p.k, fit_intercept=False, thread=1).fit(p.X, p.y)
    return model.coef_, 0.0, False


def scip(p: SimpleNamespace) -> Answer:
    """Run SCIP on the perspective form: λ_min(XᵀX) + ridge is moved into Σ β_j²/z_j; a box is |β_j| ≤ M z_j.

    Without a box, β_j = 0 where z_j = 0 follows from β_j² ≤ s_j z_j.
    """
    import pyscipopt

    d, model = p.X.shape[1], pyscipopt.Model()
    values, vectors = np.linalg.eigh(p.X.T @ p.X)
    D, b = max(0.0, 0.999 * float(values[0])), p.X.T @ p.y
    root = np.sqrt(np.maximum(values - D, 0))[:, None] * vectors.T
    bound = p.box or None
    beta = [model.addVar(lb=bound and -bound, ub=bound) for _ in range(d)]
    z = [model.addVar(vtype="B") for _ in range(d)]
    s = [model.addVar(lb=0, ub=None) for _ in range(d)]
    image, t = [model.addVar(lb=None, ub=None) for _ in range(d)], model.addVar(lb=0, ub=None)
    for i in range(d):
        model.addCons(pyscipopt.quicksum(root[i, j] * beta[j] for j in range(d)) == image[i])
        model.addCons(beta[i] * beta[i] <= s[i] * z[i])
        for sign in (1, -1) if bound else ():
            model.addCons(sign * beta[i] <= bound * z[i])
    model.addCons(pyscipopt.quicksum(v * v for v in image) <= t)
    model.addCons(pyscipopt.quicksum(z) <= p.k)
    linear = pyscipopt.quicksum(b[j] * beta[j] for j in range(d))
    model.setObjective(t - 2 * linear + (D + p.ridge) * pyscipopt.quicksum(s) + float(p.y @ p.y))
    model.setParams({"limits/gap": p.gap, "limits/time": p.time_limit, "display/verblevel": 0})
    model.optimize()
    found = np.array([model.getVal(v) for v in beta]) if model.getNSols() else np.zeros(d)
    found[np.argsort(-np.abs(found))[p.k :]] = 0  # numbers within SCIP's tolerance of zero
    return found, model.getDualbound(), model.getStatus() in ("optimal", "gaplimit")


ENTRANTS = {call.__name__: call for call in (ours, okridge, l0bnb, abess, scip)}


def run_entrant(name: str, path: Path) -> dict[str, Any]:
    """Run an entrant on the data of a file, after a small problem that compiles and loads everything."""
    with np.load(path) as file:
        p = SimpleNamespace(**{key: value if value.ndim else value.item() for key, value in file.items()})
    rng = np.random.default_rng(0)
    small = SimpleNamespace(**vars(p) | {"X": rng.standard_normal((60, 12)), "k": 2, "time_limit": 5.0})
    small.y = small.X[:, 0] - small.X[:, 5] + rng.standard_normal(60)
    with contextlib.redirect_stdout(io.StringIO()):
        ENTRANTS[name](small)
        started, used = time.perf_counter(), time.process_time()
        beta, lower, optimal = ENTRANTS[name](p)
        seconds, used = time.perf_counter() - started, time.process_time() - used
    beta = np.asarray(beta, dtype=float)
    if np.count_nonzero(beta) > p.k:
        raise ValueError(f"{np.count_nonzero(beta)} features after {seconds:.1f} s, which is more than k")
    objective = float(np.square(p.y - p.X @ beta).sum() + p.ridge * (beta @ beta))
    lower = max(0.0, float(lower))
    answer = {"support": np.flatnonzero(beta).tolist(), "objective": objective, "lower_bound": lower}
    times = {"seconds": seconds, "processor_seconds": used}
    return answer | {"gap": 1 - lower / objective, "optimal": bool(optimal)} | times


def measure(name: str, python: str, case: dict[str, float], seed: int) -> dict[str, Any]:
    """Draw an instance, run an entrant on it in a new process, and return its answer or its error."""
    from benchmarks.designs import frontier_instance

    drawn: dict[str, Any] = {key: case[key] for key in ("n", "d", "k", "rho", "snr")}
    data = frontier_instance(seed=seed, **drawn)
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "data.npz")
        np.savez(path, **vars(data) | case)
        command = ["timeout", f"{2 * case['time_limit'] + 60}", python, "-m", "benchmarks.frontier"]
        command += ["--entrant", name, path]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        return {"error": (done.stderr.strip().splitlines() or [f"exit status {done.returncode}"])[-1]}
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return answer


def row(case: dict[str, float], name: str, answers: list[dict[str, Any]]) -> str:
    """Return the row of the table: seconds and gaps, median and worst over the seeds, and the proofs."""
    title = ", ".join(f"{key} {case[key]:g}" for key in CASE if case[key])
    good = [answer for answer in answers if "error" not in answer]
    errors = "; ".join(dict.fromkeys(answer["error"] for answer in answers if "error" in answer))
    cells = [title, name, "", "", f"{sum(a['optimal'] for a in good)} of {len(answers)}", "", errors]
    if good:
        seconds, gaps = [a["seconds"] for a in good], [a["gap"] for a in good]
        cells[2:4] = f"{statistics.median(seconds):.2f}", f"{max(seconds):.2f}"
        cells[5] = f"{statistics.median(gaps):.1e} ({max(gaps):.1e})"
    return "| " + " | ".join(cells) + " |"


def judge(path: Path, time_limit: float) -> None:
    """Count the answers called optimal that certificates confirm, refute or leave open, and print the table.

    An answer with s features and the gap g claims that no set of s features has a value below (1 − g) times
    its own. An exactly verified certificate for s features gives bounds on the best value. Answers with a
    ridge or a box of the case are left out, because some entrants cannot state both.
    """
    from benchmarks.designs import frontier_instance

    answers = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    bounds: dict[str, tuple[float, float]] = {}
    counts = dict[str, Counter[str]]()
    for answer in answers:
        case = answer["case"]
        if not answer.get("optimal") or case["ridge"] or case["box"]:
            continue
        drawn = {key: case[key] for key in ("n", "d", "k", "rho", "snr")} | {"seed": answer["seed"]}
        size = len(answer["support"])
        if (key := f"{drawn} {size}") not in bounds:
            bounds[key] = certify_value(frontier_instance(**drawn), size, time_limit)
        least, most = bounds[key]
        claimed = answer["objective"] * (1 - case["gap"])
        word = "refuted" if most < claimed else "open"
        word = "confirmed" if least >= claimed else word
        counts.setdefault(answer["entrant"], Counter())[word] += 1
    for name, count in counts.items():
        print(name, dict(count), flush=True)  # noqa: T201


def certify_value(data: SimpleNamespace, k: int, time_limit: float) -> tuple[float, float]:
    """Return bounds on the best value of k features that a certificate proves; 0 and inf without one."""
    import sparselin as sl

    best = sl.best_subset(data.X, data.y, k, box=np.inf, time_limit=time_limit)
    verified = best.certificate.verify(data.X, data.y) if best.certificate else None
    if not verified:
        return 0.0, math.inf
    return 2 * float((1 - verified.gap) * verified.value), 2 * float(verified.value)


def main() -> None:
    """Print the table, or the answer of one entrant with `--entrant name data.npz`."""
    parser = argparse.ArgumentParser(description=__doc__)
    for key, value in CASE.items():
        parser.add_argument(f"--{key}", type=type(value), default=value)
    parser.add_argument("--time-limit", type=float, default=60.0)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2, 3, 4])
    parser.add_argument("--entrants", nargs="+", default=["ours"], help="name, or name=interpreter")
    parser.add_argument("--output", type=Path, help="append each answer to this file, as a line of JSON")
    parser.add_argument("--judge", type=Path, help="a file of answers, to compare with certificates")
    parser.add_argument("--entrant", nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.entrant:
        print(json.dumps(run_entrant(arguments.entrant[0], Path(arguments.entrant[1]))))  # noqa: T201
        return
    if arguments.judge:
        judge(arguments.judge, arguments.time_limit)
        return
    case = {key: getattr(arguments, key) for key in (*CASE, "time_limit")}
    print(HEADER)  # noqa: T201
    for entrant in arguments.entrants:
        name, _, python = entrant.partition("=")
        answers = []
        for seed in arguments.seeds:
            answers.append(measure(name, python or sys.executable, case, seed))
            if arguments.output:
                with arguments.output.open("a", encoding="utf-8") as file:
                    json.dump({"entrant": name, "case": case, "seed": seed, **answers[-1]}, file)
                    file.write("\n")
        print(row(case, name, answers), flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
