(* The theorems, each as the page docs/proofs/formal.md states it, and what each depends on: nothing.

   The definitions that a statement uses are in lasso.v (the objective, minimisers), residual.v (r, c, lambda*, T),
   window.v (the window, the dual polytope), active.v (A(S)), dual.v (projections), attention.v (equation (5)) and
   runs.v (the two algorithms). *)
From mathcomp Require Import all_ssreflect all_algebra.
From sparselin Require Import ordered_field inner_product lasso residual existence window active single dual attention.
From sparselin Require Import runs checker certificate.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.POrderTheory Order.TotalTheory.
Local Open Scope ring_scope.

Section OrderedField.
Variables (R : realFieldType) (n d : nat) (X : 'M[R]_(n, d)) (y : 'cV[R]_n) (S : {set 'I_d}).
Variable M : 'I_d -> R.
Notation c := (correlation X S y).
Notation lambda_star := (lambda_star X S y).
Notation lambda_1 := (window_start X y S M).

(* 0. The residual r, by its two properties *)
Theorem residual_exists_unique : is_residual X S y (residual X S y) /\
  forall r, is_residual X S y r -> r = residual X S y.
Proof.
split; first exact: residual_exists.
by move=> r H; apply: residual_unique H (residual_exists X S y).
Qed.

(* 1. Optimality *)
Theorem minimisers_are (lam : R) (b : 'cV[R]_d) : 0 <= lam ->
  minimiser X y S lam b <-> optimality X y S lam b.
Proof. exact: optimality_minimiser. Qed.

Theorem minimisers_share (lam : R) (b b' : 'cV[R]_d) : 0 <= lam ->
  minimiser X y S lam b -> minimiser X y S lam b' ->
  X *m b = X *m b' /\ (0 < lam -> penalty S b = penalty S b').
Proof.
move=> lam0 min min'; split; first exact: minimisers_fit lam0 min min'.
by move=> lam_gt0; exact: minimisers_penalty lam_gt0 min min'.
Qed.

(* 2. The largest penalty *)
Theorem above_lambda_star (lam : R) (b : 'cV[R]_d) : lambda_star <= lam -> 0 < lam ->
  minimiser X y S lam b <-> least_squares_fit X S y b.
Proof. exact: minimisers_above. Qed.

Theorem below_lambda_star (lam : R) (b : 'cV[R]_d) : 0 < lam -> lam < lambda_star ->
  minimiser X y S lam b -> ~ zero_off S b.
Proof. exact: minimisers_below. Qed.

Theorem lambda_star_is_the_threshold (lam : R) : 0 < lam ->
  (exists2 b, minimiser X y S lam b & ~ zero_off S b) <-> lam < lambda_star.
Proof. exact: threshold. Qed.

(* 3. Theorem 3.3, for all bounds M_i >= |X_i||r|; there are some, without roots *)
Theorem theorem_3_3_holds : bounds X y S M -> 0 < lambda_star ->
  0 <= lambda_1 /\ lambda_1 < lambda_star /\
  forall lam b, lambda_1 < lam -> lam < lambda_star -> minimiser X y S lam b ->
    (exists2 i, i \notin S & b i 0 != 0) /\
    (forall i, i \notin S -> b i 0 != 0 -> `|c i| = lambda_star).
Proof. exact: theorem_3_3. Qed.

Theorem mean_bounds_are_bounds : bounds X y S (mean_bound X y S).
Proof. exact: mean_bounds. Qed.

Theorem one_tied_feature (i : 'I_d) (lam : R) (b : 'cV[R]_d) : bounds X y S M -> 0 < lambda_star ->
  tied X S y = [set i] -> lambda_1 < lam -> lam < lambda_star ->
  minimiser X y S lam b <->
  [/\ forall j, j \in S -> corr X (y - X *m b) j = 0,
      forall j, j \notin S -> j != i -> b j 0 = 0
    & b i 0 = (1 - lam / lambda_star) * c i / sq (residual X S (col i X))].
Proof. by move=> Mb L0 Ti start lt; exact: (single_minimiser Mb L0 start lt Ti). Qed.

(* 4. Every T *)
Theorem minimisers_exist (lam : R) : 0 <= lam -> exists b, minimiser X y S lam b.
Proof. exact: minimiser_exists. Qed.

Theorem active_is_nonzero (i : 'I_d) (lam : R) : bounds X y S M -> 0 < lambda_star -> i \notin S ->
  lambda_1 < lam -> lam < lambda_star ->
  (exists2 b, minimiser X y S lam b & b i 0 != 0) <-> active X y S i.
Proof. by move=> Mb L0 iS start lt; exact: (active_nonzero L0 Mb start lt iS). Qed.

Theorem some_feature_is_active : 0 < lambda_star -> exists2 i, active X y S i & i \in tied X S y.
Proof. by case/active_exists => i act; exists i => //; exact: active_tied act. Qed.

(* 5. The dual *)
Theorem dual_projection (lam : R) (b : 'cV[R]_d) (u : 'cV[R]_n) : 0 <= lam -> minimiser X y S lam b ->
  is_projection (dual_polytope X S lam) y u <-> u = y - X *m b.
Proof. by move=> lam0 min; case: (residual_is_projection lam0 min) => H _; exact: H. Qed.

Theorem dual_difference (lam : R) (b : 'cV[R]_d) : bounds X y S M -> 0 < lambda_star ->
  lambda_1 < lam -> lam < lambda_star -> minimiser X y S lam b ->
  exists2 a : 'I_d -> R, (forall i, i \notin tied X S y -> a i = 0) &
    residual X S y - (y - X *m b) = \sum_i a i *: residual X S (col i X).
Proof. by move=> Mb L0; exact: (residual_difference Mb L0). Qed.
End OrderedField.

(* 3, with square roots: M_i = |X_i||r| *)
Theorem norm_bounds_are_least (R : rcfType) n d (X : 'M[R]_(n, d)) (y : 'cV[R]_n) (S : {set 'I_d}) :
  bounds X y S (norm_bound X y S) /\
  forall M, bounds X y S M -> window_start X y S (norm_bound X y S) <= window_start X y S M.
Proof. exact: norm_bounds. Qed.

Theorem lemma_3_4_is_false (R : realFieldType) :
  (forall i, sq (col i (counterexample_X R)) = 1) /\ sq (counterexample_y R) = 1 /\
  ~ lemma_3_4_as_printed (counterexample_X R) (counterexample_y R) counterexample_S.
Proof. by split; [|split]; [exact: columns_are_unit | exact: columns_are_unit | exact: lemma_3_4_fails]. Qed.

(* 6. Theorem 1.1, one step *)
Theorem attention_is_lasso (R : rcfType) n d (X : 'M[R]_(n, d)) (y : 'cV[R]_n) (S : {set 'I_d})
    (lam : R) (w theta : 'cV[R]_d) : 0 < lam ->
  attention_minimiser X y S (2%:R * lam) w theta <->
  [/\ minimiser X y S lam (hadamard S w theta), forall i, i \in S -> w i 0 = 0 &
      forall i, i \notin S -> `|w i 0| = `|theta i 0|].
Proof. exact: attention_minimisers. Qed.

Theorem attention_minimisers_exist (R : rcfType) n d (X : 'M[R]_(n, d)) (y : 'cV[R]_n) (S : {set 'I_d})
    (lam : R) : 0 < lam -> exists w theta, attention_minimiser X y S (2%:R * lam) w theta.
Proof. exact: attention_minimiser_exists. Qed.

Theorem theorem_1_1_holds (R : rcfType) n d (X : 'M[R]_(n, d)) (y : 'cV[R]_n) (S : {set 'I_d})
    (M : 'I_d -> R) (lam : R) (w theta : 'cV[R]_d) (i : 'I_d) : bounds X y S M -> 0 < lambda_star X S y ->
  window_start X y S M < lam -> lam < lambda_star X S y ->
  attention_minimiser X y S (2%:R * lam) w theta ->
  i \notin S -> (forall j, j \notin S -> `|w j 0| <= `|w i 0|) -> active X y S i /\ i \in tied X S y.
Proof. exact: theorem_1_1. Qed.

(* 7. Runs *)
Section Runs.
Variables (R : realFieldType) (n d : nat) (X : 'M[R]_(n, d)) (y : 'cV[R]_n) (S : {set 'I_d}).

Theorem step_is_active (i : 'I_d) :
  sequential_lasso_step X y S i <-> 0 < lambda_star X S y /\ active X y S i.
Proof. exact: sequential_lasso_stepP. Qed.

Theorem both_end_together :
  ((exists i, omp_step X y S i) <-> 0 < lambda_star X S y) /\
  ((exists i, sequential_lasso_step X y S i) <-> 0 < lambda_star X S y).
Proof. by split; [exact: omp_ends | exact: sequential_lasso_ends]. Qed.

Theorem every_run_is_of_omp (p : seq 'I_d) : sequential_lasso_run X y S p -> omp_run X y S p.
Proof. exact: sequential_lasso_run_omp. Qed.

Theorem runs_without_ties_agree (p : seq 'I_d) : untied_omp_run X y S p ->
  sequential_lasso_run X y S p /\
  forall p', (size p' <= size p)%N -> omp_run X y S p' \/ sequential_lasso_run X y S p' ->
    p' = take (size p') p.
Proof. exact: untied_runs. Qed.
End Runs.

(* 8. Certificates *)
Theorem certificates_are_sound n d e f columns entries forced picks steps :
  checks true n d columns entries forced picks steps ->
  sequential_lasso_picks (dyadic_matrix n d e columns) (dyadic_column n f entries) forced picks.
Proof. exact: sequential_lasso_checked. Qed.

Theorem omp_certificates_are_sound n d e f columns entries forced picks steps :
  checks false n d columns entries forced picks steps ->
  omp_picks (dyadic_matrix n d e columns) (dyadic_column n f entries) forced picks.
Proof. exact: omp_checked. Qed.

Print Assumptions residual_exists_unique.
Print Assumptions minimisers_are.
Print Assumptions minimisers_share.
Print Assumptions above_lambda_star.
Print Assumptions below_lambda_star.
Print Assumptions lambda_star_is_the_threshold.
Print Assumptions theorem_3_3_holds.
Print Assumptions mean_bounds_are_bounds.
Print Assumptions one_tied_feature.
Print Assumptions minimisers_exist.
Print Assumptions active_is_nonzero.
Print Assumptions some_feature_is_active.
Print Assumptions dual_projection.
Print Assumptions dual_difference.
Print Assumptions norm_bounds_are_least.
Print Assumptions lemma_3_4_is_false.
Print Assumptions attention_is_lasso.
Print Assumptions attention_minimisers_exist.
Print Assumptions theorem_1_1_holds.
Print Assumptions step_is_active.
Print Assumptions both_end_together.
Print Assumptions every_run_is_of_omp.
Print Assumptions runs_without_ties_agree.
Print Assumptions certificates_are_sound.
Print Assumptions omp_certificates_are_sound.
