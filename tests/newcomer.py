"""The table of a newcomer: categories, a date, an identifier, sites, gaps, and six features that matter."""

import numpy as np

ROWS, COLUMNS = 400, 60
CATEGORIES = {"sex": 2, "smoker": 3, "region": 5, "ward": 8, "site": 25}
CAUSES = ("age", "bmi", "crp", "glucose", "gene_05", "gene_17")


def table(seed, empty=0.01, target="number"):
    """Return a frame of 60 columns and the target `score`, and the six columns that explain half of it.

    empty : the share of empty cells; .01 touches 45 % of the rows, .0005 touches 3 %.
    target : "number", or "text" for "yes" where the number is above its median, else "no".
    """
    import pandas as pd

    rng = np.random.default_rng(seed)
    measured = [*CAUSES, *(f"gene_{i:02d}" for i in range(60) if f"gene_{i:02d}" not in CAUSES)]
    measured = measured[: COLUMNS - len(CATEGORIES) - 2]
    Z = rng.standard_normal((ROWS, len(measured)))
    for j in range(10):  # ten others that correlate at .6 with one of the six
        Z[:, 6 + j] = 0.6 * Z[:, j % 6] + 0.8 * Z[:, 6 + j]
    signal = Z[:, :6] @ rng.choice([-1, 1], 6) / np.sqrt(6)
    y = signal + rng.standard_normal(ROWS)  # R² = .5
    frame = pd.DataFrame(np.round(50 + 10 * Z, 2), columns=measured)
    for name, count in CATEGORIES.items():
        frame[name] = [f"{name[0].upper()}{i:02d}" for i in rng.integers(count, size=ROWS)]
    frame["visit"] = pd.date_range("2024-01-01", periods=ROWS).strftime("%Y-%m-%d")
    frame["patient"] = rng.permutation(ROWS) + 100_000
    frame = frame[rng.permutation(frame.columns)]
    frame = frame.mask(rng.random(frame.shape) < empty)
    score = np.round(100 + 15 * y, 1)
    frame["score"] = score if target == "number" else np.where(score > np.median(score), "yes", "no")
    return frame, set(CAUSES)


if __name__ == "__main__":
    import sys

    table(int(sys.argv[1]))[0].to_csv(sys.stdout, index=False)
