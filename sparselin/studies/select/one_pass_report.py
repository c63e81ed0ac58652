"""What `sparselin select --one-pass` leaves in its folder: the table as CSV, and JSON."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sparselin.problem import Problem
from sparselin.studies.common import folder, page

_PACKAGES = ("numpy", "scipy", "numba", "pyarrow")
_HEADING = ["step", "feature", "coefficient", "lam", "margin", "ties", "r2", "held_out_r2"]


def write(
    output: Path,
    request: Any,
    problem: Problem,
    selected: Any,
    held_out_r2: list[float],
    method: str,
    command: str,
    seed: int,
    seconds: float,
    interrupted: bool,
) -> Path:
    """Write selected.csv and results.json; the path of the latter."""
    path, record = selected.path, problem.compressed
    rows = []
    for t, j in enumerate(path.support.tolist()):
        ties = [path.name_of(i) for i in path.ties[t] if i != j]
        r2 = 1 - float(path.residual_norm[t + 1] / path.residual_norm[0]) ** 2
        held = held_out_r2[t + 1] if held_out_r2 else None
        values = (
            float(path.coef[t]),
            float(selected.lam[t]),
            float(path.margin[t]),
            "; ".join(ties),
            r2,
            held,
        )
        rows.append([t + 1, path.name_of(j), *values])
    data = {
        **{key: str(v) if isinstance(v, Path) else v for key, v in request._asdict().items()},
        "rows": record.rows,
        "chunks": record.chunks,
        "skipped": record.skipped,
        "levels": record.levels,
        "factor_known_to": record.eps,
    }
    results = {
        "run": page.describe(command, seconds, 1, seed, interrupted, packages=_PACKAGES),
        "data": data,
        "method": method,
        "selected": [dict(zip(_HEADING, row, strict=True)) for row in rows],
        "intercept": path.intercept,
        "status": selected.status.name,
    }
    return folder.write(output, results, {"selected.csv": page.table([_HEADING, *rows])})
