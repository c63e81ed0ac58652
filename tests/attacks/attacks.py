"""The table of attacks: a method, the size of its designs, and the function that judges its answers."""

import dataclasses

import numpy as np

import sparselin

from . import careful, flow, gram, inference, options, paths, selectors, sets, subsets
from .designs import draw
from .run import CLOCK, FAILURES, Case, verdict

# name → (size of designs, attack)
ATTACKS = {
    "omp": ("step", paths.omp),
    "ols": ("step", paths.ols),
    "sequential_lasso": ("step", paths.sequential_lasso),
    "sequential_lasso_omp": ("step", paths.sequential_lasso_omp),
    "first_entry": ("step", paths.first_entry),
    "lasso_path": ("path", paths.lasso_path),
    "omp_careful": ("step", careful.omp),
    "ols_careful": ("step", careful.ols),
    "lasso_path_careful": ("path", careful.lasso_path),
    "gradient_flow": ("set", flow.gradient_flow),
    "gram_omp": ("step", gram.gram_omp),
    "gram_path": ("path", gram.gram_path),
    "gram_first": ("step", gram.gram_first),
    "lambda_star": ("step", subsets.lambda_star),
    "batch_omp": ("step", subsets.batch_omp),
    "project_dual": ("step", subsets.project_dual),
    "hadamard_descent": ("set", subsets.hadamard_descent),
    "sequential_attention": ("set", subsets.sequential_attention),
    "forward_regression": ("set", subsets.forward_regression),
    "spectral_forward": ("set", subsets.spectral_forward),
    "local_search": ("set", subsets.local_search),
    "best_subset": ("set", subsets.best_subset),
    "best_subset_gap": ("set", sets.best_subset_gap),
    "subsets_within": ("set", sets.subsets_within),
    "swaps": ("set", subsets.swaps),
    "submodularity_ratio": ("set", subsets.submodularity_ratio),
    "sparse_eigenvalues": ("set", subsets.sparse_eigenvalues),
    "guarantee_bounds": ("set", subsets.guarantee_bounds),
    "regularized_bounds": ("set", subsets.regularized_bounds),
    "certify": ("set", subsets.certify),
    "inference": ("set", inference.inference),
    "knockoffs": ("set", inference.knockoffs),
    "leave_one_out": ("set", inference.leave_one_out),
    "omp_selector": ("step", selectors.omp_selector),
    "ols_selector": ("step", selectors.ols_selector),
}
# Attacks that have a row with the data and options of `problem.support`, too, a quarter in float32.
STEPS = ("omp", "ols", "sequential_lasso", "sequential_lasso_omp", "first_entry", "lambda_star", "batch_omp")
SETS = ("sequential_attention", "hadamard_descent", "forward_regression", "best_subset", "swaps")
ATTACKS |= {f"{name}+options": ATTACKS[name] for name in (*STEPS, *SETS, "spectral_forward", "gradient_flow")}
ATTACKS["lasso_path+options"] = "path", paths.lasso_path_options
# Layouts, drawn by the seed: most in C order.
FORMS = ("C", "C", "C", "F", "sparse")


def single(A):
    """A in float32, its columns being multiplied by powers of two to lengths of 2^-34 … 2^40, or 0.

    The package refuses columns whose squares leave float32, after weights of 2^-6 and more.
    """
    exponent = np.frexp(np.linalg.norm(A, axis=0))[1]
    return np.ldexp(A, np.clip(exponent, -33, 40) - exponent).astype(np.float32)


def make(family, method, seed):
    """The case of a family, a method and a seed."""
    X, y, forced = draw(family, seed, ATTACKS[method][0])
    if method.endswith("+options"):
        if seed % 4 == 3:
            X, y = single(X), single(y)
        form, chosen = options.draw(method.removesuffix("+options"), seed)
        return Case(method, X, y, tuple(int(j) for j in forced), seed, form, chosen)
    return Case(method, X, y, tuple(int(j) for j in forced), seed, FORMS[seed % len(FORMS)])


def attempt(case, sl=sparselin):
    """(verdict, words)."""
    return verdict(ATTACKS[case.method][1], sl, case)


def warm_up(methods):
    """Compile what there is to compile, so that limits can be short."""
    for method in methods:
        for seed in range(len(FORMS)):
            case = make("gaussian", method, seed)
            attempt(case)
            attempt(dataclasses.replace(case, X=case.X.astype(np.float32), y=case.y.astype(np.float32)))
    CLOCK.warm = True


def stands(case):
    """A case that was found once no longer fails."""
    kind, words = attempt(case)
    assert kind not in FAILURES, f"{kind}: {words}"
