import matplotlib.pyplot as plt

import sparselin as sl


def shares(X, y):
    found = sl.guarantee_bounds(X, y, 4)
    before = found.bound("OMP", "sparse eigenvalue, sharper").lower
    certificate = found.bound("OMP", "certificate after the run").lower
    achieved = sl.omp(X, y, 4).r2 / sl.best_subset(X, y, 4).r2
    return {"before": before, "certificate": certificate, "achieved": achieved}


table = sl.testing.experiment(shares, lambda rng: sl.ensembles.ar1(60, 20, rng, rho=0.5), 200)
assert (table["certificate"] <= table["achieved"] + 1e-9).all()
summary = table[["before", "certificate", "achieved"]].describe()
summary.to_latex("guarantees.tex", float_format="%.3f", escape=True)
ax = table.plot.scatter("achieved", "certificate", color="C0", label="certificate after the run")
table.plot.scatter("achieved", "before", ax=ax, color="C1", marker="x", label="before the run")
ax.axline((0, 0), slope=1, color="0.6")
ax.set(xlabel="achieved share of the best R²", ylabel="guaranteed share", ylim=(0, 1))
plt.savefig("guarantees-experiment.png", dpi=130)
