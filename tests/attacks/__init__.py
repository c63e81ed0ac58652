"""Attacks that stay: hard designs (`designs`, `margins`), exact oracles (`oracles`), the claims of methods.

Rows "+options" draw the data and options that `problem.support.SUPPORT` has for the method, except Gram and
complex data: LinearOperators, compressed problems, sparse and float32 data, weights, an intercept,
standardized columns, tol, β ≥ 0.
`paths`, `subsets`, `gram` and `flow` judge an answer claim by claim, and a path step by step, each at the
picks made so far, so that one near-tie does not cascade. What a claim may be off by is `oracles.C` = 64 times
the first-order error that relative rounding of the data makes of it, computed from the exact solution
(`oracles.Step`). An answer that says that it cannot tell (BEYOND_PRECISION, optimal=False, a wide interval)
is undecided, and never wrong.
`sets` compares `subsets_within`, and the gaps of `best_subset`, with all sets in rational numbers, for a
ridge, a box, signs, groups, an intercept and weights. `selectors` computes AIC, BIC, EBIC and
leave-one-out of the sizes of `OMPSelector` and `OLSSelector`, RSS in rational numbers, with weights that have
a factor, or are 0.
Rows "_careful" forbid the compiled calls for small problems, which otherwise answer most rows (`careful`).
`python -m tests.attacks --help` has the rest; a failure is shrunk and written down in `found`.

Statements that no attack makes, because there is no oracle for them:

- speed and memory, but for hangs; that a status BEYOND_PRECISION was needed (its share is printed);
- that T is no larger than it must be: rounding of the data, times C, is the only limit;
- which of several solutions a LASSO path follows where columns are dependent, and whether it has more knots
  than it needs: KKT conditions at and between its knots cannot see either;
- A(S) in ties of more than `paths.TIED` columns, or in ties that are such but for rounding;
- the forms of `sequential_attention` that are not convex ("softmax", "l2", normalised ones), its weights; how
  far `hadamard_descent` is from β: only that its gap is not too small is seen, against the path's own β;
- `greedy_local_search` beyond its value, `choose_nu` (R² is not monotone in ν), `maximize`; SpectralVariance
  and GeneralizedRank, whose eigenvalues are irrational;
- whether a promise could be larger, or an interval narrower; `hypotheses` that were not decided;
- that a certificate proves τ and `epsilon` to be the largest;
- Gram problems beyond `omp`, `lasso_path` and first picks on integers (`gram`); complex data; weights that
  are not integers times a power of four; options of methods without a row "+options" (`options`);
- the truncation of `inference` with σ estimated or unknown, of LASSO paths, and of choices by a criterion
  (`tests/post_selection/test_inference.py` moves y there); levels, which
  `python -m proofs_checks.experiments.levels` measures; knockoffs of more than four columns,
  `stability_selection`, and leave-one-out where a row nearly determines its fit;
- nonnegative OMP from where rounding may change which coefficients are zero;
- `gradient_flow` on faces of more than `paths.TIED` features beyond KKT conditions and ‖y − Xβ‖; its option
  `restart`; features on the face off the support in float32; which features are tied where its accumulated s
  is known to an error that the path states;
- selectors of other kinds, with several outputs, groups or another loss; cross-validation in selectors;
- designs larger than 60 × 250, threads, signals, callbacks.

`hier_prox`, `softmax_penalty` and `q` take no design: `proofs_checks/` and `tests/` have their oracles.
"""
