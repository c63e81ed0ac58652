"""
========================================================
Dynamics from noisy data, with a proof for each equation
========================================================

pysindy finds the equations of a system from its trajectories. Here `BestSubsetOptimizer` selects the terms of
each equation, and proves that no equation with as many terms fits better. The systems are the Lorenz system,
the Hopf normal form, and Burgers' equation in weak form. Five trajectories of each are generated, with noise.
`choose_terms` holds out each trajectory once to choose the number of terms.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
import pysindy as ps
from scipy.integrate import solve_ivp

from sparselin.estimators import BestSubsetOptimizer, choose_terms
from sparselin.plots import style

warnings.filterwarnings("ignore", module="pysindy")
rng = np.random.default_rng(20261126)


# %%
# The trajectories
# ----------------


def lorenz(t, z):
    return [10 * (z[1] - z[0]), z[0] * (28 - z[2]) - z[1], z[0] * z[1] - 8 / 3 * z[2]]


def hopf(t, z):
    r = z @ z
    return [0.5 * z[0] - z[1] - r * z[0], z[0] + 0.5 * z[1] - r * z[1]]


frequencies = 1j * np.fft.fftfreq(96, 1 / 96)


def burgers(t, u):  # u_t = −u·u_x + 0.1·u_xx on a circle
    u_x, u_xx = (np.fft.ifft(frequencies**order * np.fft.fft(u)).real for order in (1, 2))
    return 0.1 * u_xx - u * u_x


def noisy(system, t, starts, share):
    """Return the trajectories; the noise is this share of the standard deviation."""
    paths = [solve_ivp(system, (0, t[-1]), start, t_eval=t, rtol=1e-8, atol=1e-8).y for start in starts]
    return [path + share * path.std() * rng.standard_normal(path.shape) for path in paths]


x = 2 * np.pi * np.arange(96) / 96
waves = [np.sin(x + p) + 0.5 * np.sin(2 * x + q) for p, q in rng.uniform(0, 6, (5, 2))]
times = {"Lorenz": np.arange(0, 5, 0.005), "Hopf": np.arange(0, 10, 0.02), "Burgers": np.arange(0, 2, 0.02)}
data = {
    "Lorenz": [path.T for path in noisy(lorenz, times["Lorenz"], rng.normal(0, 8, (5, 3)), 0.002)],
    "Hopf": [path.T for path in noisy(hopf, times["Hopf"], rng.normal(0, 1, (5, 2)), 0.01)],
    "Burgers": [path[..., None] for path in noisy(burgers, times["Burgers"], waves, 0.05)],
}

# %%
# The equations
# -------------
# The terms are powers up to degree 3, and for Burgers' equation their products with derivatives. Each of
# pysindy's optimizers gets the same terms and derivatives.

np.random.seed(0)  # pysindy draws the domains of the weak form
grid = np.stack(np.meshgrid(x, times["Burgers"], indexing="ij"), axis=-1)
weak = ps.WeakPDELibrary(
    ps.PolynomialLibrary(degree=3, include_bias=False), derivative_order=3, spatiotemporal_grid=grid, K=200
)
models = {}
for name, paths in data.items():
    models[name] = ps.SINDy(
        optimizer=BestSubsetOptimizer(7),
        feature_library=weak if name == "Burgers" else ps.PolynomialLibrary(degree=3),
        differentiation_method=ps.SmoothedFiniteDifference(),
    )
    choose_terms(models[name], paths, times[name] if name == "Burgers" else times[name][1])

# %%
# The proofs
# ----------
# With `box=np.inf`, which restricts nothing, the search leaves a certificate, which `verify` checks in exact
# arithmetic: no equation with as many of the terms has a smaller residual.

proofs = {}
for name, model in models.items():
    Theta, Y = model.optimizer.Theta_, model.optimizer.targets_
    best = BestSubsetOptimizer(model.optimizer.k, options={"box": np.inf}).fit(Theta, Y)
    proofs[name] = [
        bool(found.certificate.verify(Theta, y)) for found, y in zip(best.results_, Y.T, strict=True)
    ]
    print(f"{name}, {Theta.shape[1]} terms")
    for equation, proof, found in zip(model.equations(), proofs[name], best.results_, strict=True):
        print(f"  {equation}   R² {found.r2:.4f}, {'proved' if proof else 'not proved'}")

# %%
# pysindy's optimizers with their defaults
# ----------------------------------------
# The lines are the least 1 − R² of each number of terms, so no optimizer can be below its line. The circles
# are the equations above. STLSQ drops coefficients below 0.1, and with them the diffusion of Burgers'
# equation. SSR removes terms one by one, and loses one of the Lorenz system. FROLS keeps up to ten. MIOSR is
# included if Gurobi is installed.

others = {"STLSQ": ps.STLSQ(), "SSR": ps.SSR(), "FROLS": ps.FROLS()}
marks = {"STLSQ": "s", "SSR": "^", "FROLS": "x", "MIOSR": "+"}
colours = (style.BLUE, style.ORANGE, style.GREEN)
errors, sizes = {}, {}
figure, axes = plt.subplots(1, 3, figsize=(13, 4.2), layout="constrained")
for ax, (name, model) in zip(axes, models.items(), strict=True):
    Theta, Y, k = model.optimizer.Theta_, model.optimizer.targets_, model.optimizer.k
    if hasattr(ps, "MIOSR"):
        others["MIOSR"] = ps.MIOSR(target_sparsity=None, group_sparsity=k, alpha=0)

    def error(optimizer, Theta=Theta, Y=Y):
        return np.sum((Y - Theta @ optimizer.coef_.T) ** 2, axis=0) / np.sum(Y**2, axis=0)

    best = BestSubsetOptimizer(10).fit(Theta, Y)
    least = np.array([[1 - found.r2 for found in results.by_size] for results in best.results_])
    style.picture(ax, "number of terms", "1 − R²", name)
    for i, colour in enumerate(colours[: len(least)]):
        ax.plot(range(1, 11), least[i], color=colour, label=f"best, equation of {model.feature_names[i]}")
        ax.plot(k[i], least[i, k[i] - 1], "o", color=colour, markersize=9)
    for other, optimizer in others.items():
        optimizer.fit(Theta, Y)
        errors[name, other], sizes[name, other] = error(optimizer), optimizer.ind_.sum(axis=1)
        for i, colour in enumerate(colours[: len(least)]):
            x, y = sizes[name, other][i], errors[name, other][i]
            ax.plot(x, y, marks[other], color=colour, fillstyle="none", markersize=11)
    errors[name, "least"] = least
    ax.set_yscale("log" if least.min() < 0.1 else "linear")
    style.integers(ax)
    ax.legend(frameon=False)
handles = [plt.Line2D([], [], linestyle="", marker=marks[o], color="0.3", fillstyle="none") for o in others]
figure.legend(handles, others, loc="outside lower center", ncols=len(others), frameon=False)
plt.show()
