(* The theorems, each as the page docs/proofs/formal.md states it, and what each depends on: nothing.

   The definitions that a statement uses are in lasso.v (the objective, minimisers), residual.v (r, c, lambda*, T),
   window.v (the window, the dual polytope), active.v (A(S)), dual.v (projections), attention.v (equation (5)),
   runs.v (the two algorithms), subsets.v (leaves and trees), ridge.v (best subsets), flow.v (the flow), average.v (its
   mean), restart.v (the flow that restarts after each pick) and agreement.v (the first picks of OMP);
   leaving.v has an example. *)
From mathcomp Require Import all_ssreflect all_algebra.
From sparselin Require Import ordered_field inner_product lasso residual existence window active single dual attention.
From sparselin Require Import runs checker certificate subsets ridge flow average restart events agreement leaving.
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

(* 9. Best subsets. With weights |u|² = <u, Au>. *)
Section Subsets.
Variables (R : realFieldType) (n d : nat) (A : 'M[R]_n) (X : 'M[R]_(n, d)) (y : 'cV[R]_n) (rho : R).
Notation G := (gram A X rho).

Theorem leaf_is_a_bound (F S : {set 'I_d}) (D h : 'I_d -> R) (w x : 'cV[R]_d) : A^T = A ->
  semidefinite F (G - diagonal D) -> zero_off F w -> zero_off F x -> zero_off S x ->
  (forall j, j \in S ->
    gain (D j) (corr X (A *m (y - X *m w)) j - rho * w j 0 + D j * w j 0) (x j 0) <= h j) ->
  base (constant A y) G D w - \sum_(j in S) h j <= ridge_objective A X y rho x.
Proof.
move=> symmetric psd wF xF xS le_h; rewrite ridge_quadratic //.
apply: (leaf_bound _ (gram_symmetric X rho symmetric) psd wF xF xS) => j jS.
by rewrite slopes_of_data le_h.
Qed.

Theorem vector_confines (F S : {set 'I_d}) (D h : 'I_d -> R) (w x : 'cV[R]_d) (U : R) (j : 'I_d) : A^T = A ->
  semidefinite F (G - diagonal D) -> zero_off F w -> zero_off F x -> zero_off S x ->
  let c i := corr X (A *m (y - X *m w)) i - rho * w i 0 + D i * w i 0 in
  (forall i, i \in S -> gain (D i) (c i) (x i 0) <= h i) -> j \in S -> 0 < D j -> ridge_objective A X y rho x <= U ->
  2%:R^-1 * D j * (x j 0 - c j / D j) ^+ 2
  <= U - (base (constant A y) G D w - \sum_(i in S) h i) - h j + c j ^+ 2 / (2%:R * D j).
Proof.
move=> symmetric psd wF xF xS c le_h jS Dj; rewrite ridge_quadratic // /c -slopes_of_data.
apply: (leaf_confines (gram_symmetric X rho symmetric) psd wF xF xS _ jS Dj) => i iS.
by rewrite slopes_of_data le_h.
Qed.

Theorem gain_is_at_most (curvature slope t : R) : 0 < curvature ->
  gain curvature slope t <= slope ^+ 2 / (2%:R * curvature).
Proof.
move=> D0; have [top <-] := peak_without_box (fun _ : 'I_1 => None) (fun=> None) 0 slope D0.
exact: peak_gain top _.
Qed.

Theorem vector_is_a_bound (S : {set 'I_d}) (u : 'cV[R]_n) (h : 'I_d -> R) (x : 'cV[R]_d) : A^T = A ->
  semidefinite setT A -> zero_off S x ->
  (forall j, j \in S -> gain rho (corr X (A *m u) j) (x j 0) <= h j) ->
  dot u (A *m y) - 2%:R^-1 * dot u (A *m u) - \sum_(j in S) h j <= ridge_objective A X y rho x.
Proof. by move=> symmetric psd xS le_h; exact: (vector_bound y symmetric psd xS le_h). Qed.

Theorem intercept_is_best_at_the_mean (x : 'cV[R]_d) : A^T = A -> 0 < dot (ones R n) (A *m ones R n) ->
  (forall c, ridge_objective A (centring A *m X) (centring A *m y) rho x
    <= ridge_objective A X (y - c *: ones R n) rho x) /\
  exists c, ridge_objective A (centring A *m X) (centring A *m y) rho x
    = ridge_objective A X (y - c *: ones R n) rho x.
Proof. by move=> symmetric positive; exact: (intercept_centres X y rho symmetric positive x). Qed.

Theorem ridge_is_curvature (D : 'I_d -> R) (F : {set 'I_d}) : semidefinite setT A ->
  (forall j, j \in F -> D j <= rho) -> semidefinite F (G - diagonal D).
Proof. exact: curvature_of_ridge. Qed.

Theorem rounded_columns_suffice (Q : 'M[R]_(n, d)) (e : R) (v : 'cV[R]_d) : A^T = A -> semidefinite setT A -> 0 < e ->
  (1 - e) * dot (Q *m v) (A *m (Q *m v)) - (e^-1 - 1) * dot ((X - Q) *m v) (A *m ((X - Q) *m v))
  <= dot (X *m v) (A *m (X *m v)).
Proof. exact: rounded_columns. Qed.

Theorem curvature_is_proved l (Q : 'M[R]_(n, d)) (L : 'M[R]_(d, l)) (e f : R) (D : 'I_d -> R)
    (F : {set 'I_d}) : A^T = A -> semidefinite setT A -> 0 < e -> e <= 1 ->
  (forall v, dot ((X - Q) *m v) (A *m ((X - Q) *m v)) <= f * sq v) ->
  dominant F (shifted A Q L rho e f D) -> semidefinite F (G - diagonal D).
Proof. exact: curvature_proved. Qed.
End Subsets.

Theorem weights_are_semidefinite (R : realFieldType) n (weights : 'I_n -> R) : (forall k, 0 <= weights k) ->
  (diagonal weights)^T = diagonal weights /\ semidefinite setT (diagonal weights).
Proof. exact: weights_semidefinite. Qed.

Theorem rounding_is_at_most (R : realFieldType) n d (weights : 'I_n -> R) (E : 'M[R]_(n, d)) (v : 'cV[R]_d) :
  (forall k, 0 <= weights k) ->
  dot (E *m v) (diagonal weights *m (E *m v)) <= (\sum_k weights k * sq (row k E)^T) * sq v.
Proof. exact: frobenius. Qed.

Theorem dominant_is_semidefinite (R : realFieldType) d (F : {set 'I_d}) (M : 'M[R]_d) : M^T = M ->
  dominant F M -> semidefinite F M.
Proof. exact: dominant_semidefinite. Qed.

Theorem largest_sum_is_a_bound (R : realFieldType) (T : finType) (H : T -> R) k (I E S : {set T}) (limit : R) :
  0 <= limit -> in_node k I E S -> \sum_(u in S) H u <= largest_sum H k I E limit.
Proof. exact: largest_sum_bound. Qed.

Theorem largest_sum_is_attained (R : realFieldType) (T : finType) (H : T -> R) k (I E B : {set T}) (limit : R) :
  [disjoint B & I :|: E] -> #|B| = (k - #|I|)%N \/ limit = 0 ->
  (forall u, u \in B -> limit <= H u) -> (forall u, u \notin B :|: (I :|: E) -> H u <= limit) ->
  largest_sum H k I E limit = \sum_(u in I) H u + \sum_(u in B) H u.
Proof. exact: largest_sum_tight. Qed.

Theorem all_subsets_are_covered (T : finType) (leaf : Type) (claim : leaf -> {set T} -> {set T} -> bool) k
    (P : {set T} -> Prop) (t : tree T leaf) (I E : {set T}) :
  (forall l I' E' S, claim l I' E' -> in_node k I' E' S -> P S) ->
  proves claim k t I E -> forall S, in_node k I E S -> P S.
Proof. exact: covering. Qed.

Theorem subset_certificates_are_sound (R : realFieldType) n d (A : 'M[R]_n) (X : 'M[R]_(n, d)) (y : 'cV[R]_n)
    (rho gap : R) (T : finType) (group : 'I_d -> T) (low high : 'I_d -> option R) k (forced : {set T})
    (stage : Type) (F : stage -> {set 'I_d}) (D : stage -> 'I_d -> R) (t : tree T (leaf R d stage))
    (incumbent : 'cV[R]_d) :
  let q := ridge_objective A X y rho in let G := gram A X rho in
  A^T = A -> semidefinite setT A -> 0 <= rho -> (forall s, semidefinite (F s) (G - diagonal (D s))) ->
  proves (claim (constant A y) (moments A X y) G group low high F D k ((1 - gap) * q incumbent)) k t forced set0 ->
  forall (S : {set T}) x, forced \subset S -> (#|S| <= k)%N -> allowed group low high S x ->
  (1 - gap) * q incumbent <= q x.
Proof.
move=> q G symmetric psd rho0 stages ok S x fS Sk xS; rewrite {2}/q ridge_quadratic //.
have Gs := gram_symmetric X rho symmetric; have Gp := gram_semidefinite X psd rho0.
exact: (certificate_sound Gs Gp stages ok fS Sk xS).
Qed.

(* 10. The flow *)
Section Flow.
Variables (R : realFieldType) (n d : nat) (X : 'M[R]_(n, d)) (y : 'cV[R]_n) (S : {set 'I_d}).
Implicit Types (s : 'I_d -> R) (b : nat -> 'cV[R]_d) (v w : 'cV[R]_d).

Theorem flows_exist (T : R) : 0 < T -> exists m tau b, flow X y S tau b m /\ tau m = T.
Proof. exact: flow_exists. Qed.

Theorem flows_agree tau tau' b b' m m' k k' t : flow X y S tau b m -> flow X y S tau' b' m' ->
  in_piece tau m k t -> in_piece tau' m' k' t ->
  (forall i, state_at X y tau b k t i = state_at X y tau' b' k' t i) /\
  forall t', in_piece tau m k t' -> in_piece tau' m' k' t' -> t' < t -> X *m b k = X *m b' k'.
Proof.
move=> fl fl' pk pk'; split; first exact: (same_state fl fl' pk pk').
by move=> t' pt pt' lt; exact: (same_fit fl fl' pt pt' pk pk' lt).
Qed.

Theorem pieces_are_saddles tau b m k t : flow X y S tau b m -> in_piece tau m k t -> t < tau k.+1 ->
  saddle X y S (state_at X y tau b k t) (b k).
Proof. by move=> fl pk lt; exact: (piece_is_saddle fl pk lt). Qed.

Theorem saddles_begin_pieces s v : saddle X y S s v ->
  exists2 h, 0 < h & subgradient S (fun i => s i + h * corr X (y - X *m v) i) v.
Proof. exact: saddle_lasts. Qed.

Theorem saddles_are_least_squares s v : (forall i, i \notin S -> `|s i| <= 1) ->
  saddle X y S s v <->
  on_face S s v /\ forall w, on_face S s w -> sq (y - X *m v) <= sq (y - X *m w).
Proof. exact: saddleP. Qed.

Theorem feature_is_zero s v v' (w : 'cV[R]_n) (i : 'I_d) : saddle X y S s v -> saddle X y S s v' ->
  (forall j, (j \in S) || (v j 0 != 0) -> corr X w j = 0) ->
  (forall j, j \notin S -> `|s j| = 1 -> corr X (y - X *m v) j = 0 -> 0 <= s j * corr X w j) ->
  i \notin S -> 0 < s i * corr X w i -> v' i 0 = 0.
Proof. exact: saddle_zero. Qed.

(* The mean *)
Theorem state_is_of_the_mean tau b m k t i : flow X y S tau b m -> in_piece tau m k t -> 0 < t ->
  state_at X y tau b k t i = t * corr X (y - X *m mean tau b k t) i.
Proof. by case=> tau0 _ _ t0; apply: state_mean; rewrite // gt_eqF. Qed.

Theorem mean_is_of_the_lasso tau b m k t : flow X y S tau b m -> in_piece tau m k t -> 0 < t ->
  minimiser X y S t^-1 (mean tau b k t) <->
  forall i, i \notin S -> mean tau b k t i 0 != 0 ->
    state_at X y tau b k t i = Num.sg (mean tau b k t i 0).
Proof. by move=> fl pk t0; exact: (mean_is_lasso fl pk t0). Qed.

Theorem excess_of_the_mean tau b m k t w : flow X y S tau b m -> in_piece tau m k t -> 0 < t ->
  let e := mean tau b k t in
  objective X y S t^-1 e - objective X y S t^-1 w <=
  t^-1 * \sum_(i | i \notin S) `|e i 0| * (1 - state_at X y tau b k t i * Num.sg (e i 0)).
Proof. by move=> fl pk t0; exact: (mean_excess fl pk t0 w). Qed.

Theorem steady_mean_is_of_the_lasso tau b m k t : flow X y S tau b m -> in_piece tau m k t -> 0 < t ->
  (forall i l, i \notin S -> (l <= k)%N -> b l i 0 != 0 ->
    state_at X y tau b k t i = Num.sg (b l i 0)) ->
  minimiser X y S t^-1 (mean tau b k t).
Proof. by move=> fl pk t0; exact: (mean_of_steady_flow fl pk t0). Qed.

Theorem mean_is_of_the_lasso_throughout tau b m : flow X y S tau b m ->
  (forall k t, in_piece tau m k t -> 0 < t -> minimiser X y S t^-1 (mean tau b k t)) <->
  no_coordinate_leaves X y S tau b m.
Proof. by move=> fl; exact: (mean_is_lasso_throughout fl). Qed.

Theorem lasso_path_is_the_mean tau b m : tau 0%N = 0 -> (forall k, (k < m)%N -> tau k < tau k.+1) ->
  (forall k t, in_piece tau m k t -> 0 < t -> minimiser X y S t^-1 (mean tau b k t)) ->
  flow X y S tau b m <-> never_falls S tau b m.
Proof. by move=> tau0 increasing min; exact: (lasso_is_mean_of_flow tau0 increasing min). Qed.

(* The first event *)
Theorem flow_before_the_first_event tau b m k t i : flow X y S tau b m -> in_piece tau m k t ->
  t * lambda_star X S y <= 1 -> state_at X y tau b k t i = t * correlation X S y i.
Proof. by move=> fl pk early; exact: (state_until fl i pk early). Qed.

Theorem first_event tau b m k : flow X y S tau b m -> (k < m)%N ->
  (forall l, (l < k)%N -> zero_off S (b l)) -> ~ zero_off S (b k) ->
  [/\ 0 < lambda_star X S y, tau k = (lambda_star X S y)^-1,
      forall i, i \notin S -> `|state X y tau b k i| = 1 <-> i \in tied X S y
    & forall i, i \notin S -> b k i 0 != 0 -> active X y S i].
Proof.
move=> fl km before event; have [L0 tL] := event_time fl km before event.
split=> // [|i iS|i iS bi]; last by have /sequential_lasso_stepP[] := event_step fl km before event iS bi.
  by rewrite -[LHS]mulr1 -(mulfV (_ : lambda_star X S y != 0)) ?mulrA ?tL ?mul1r // gt_eqF.
exact: (event_tied fl km before event iS).
Qed.

Theorem active_features_arrive_together (A : {set 'I_d}) : 0 < lambda_star X S y ->
  (forall i, i \in A -> active X y S i) ->
  exists tau b, [/\ flow X y S tau b 2, zero_off S (b 0%N) & forall i, i \in A -> b 1%N i 0 != 0].
Proof. by move=> L0; exact: event_is_wide. Qed.

(* The flow that restarts *)
Theorem forced_flow_is_projected tau b m : flow X y S tau b m ->
  flow (residuals X S) (residual X S y) set0 tau (fun k => drop S (b k)) m /\
  forall k t i, (k < m)%N ->
    state_at (residuals X S) (residual X S y) tau (fun k => drop S (b k)) k t i = state_at X y tau b k t i.
Proof. exact: forced_is_projected. Qed.

Theorem flow_step_is_active (i : 'I_d) :
  flow_step X y S i <-> 0 < lambda_star X S y /\ active X y S i.
Proof. by rewrite flow_stepP; exact: sequential_lasso_stepP. Qed.

Theorem restarted_flow_is_omp (p : seq 'I_d) :
  (flow_run X y S p <-> sequential_lasso_run X y S p) /\ (flow_run X y S p -> omp_run X y S p).
Proof.
split; first exact: flow_runP.
by move/flow_runP; exact: sequential_lasso_run_omp.
Qed.

Theorem first_events_are_picks_of_omp (p : nat -> 'I_d) (rho : nat -> R) b k :
  picks_with_ratios X y S p rho k -> fits_with_signs X y S p b k ->
  (forall t, (t < k)%N -> 0 <= rho t) -> \prod_(t < k) (1 + rho t) < 2%:R ->
  exists2 tau, flow X y S tau b k & forall t j, (t <= k)%N -> j \notin S ->
    `|state X y tau b t j| = 1 <-> j \in picked S p t.
Proof.
move=> picks fits rho0 product; have [fl at_1] := first_events picks fits rho0 product.
by exists (fun t => (arrival X y S p t).1).
Qed.
End Flow.

Theorem mean_need_not_be_of_the_lasso :
  flow leaving_X leaving_y set0 leaving_times leaving_coefs 3 /\
  ~ minimiser leaving_X leaving_y set0 (leaving_times 3)^-1 (mean leaving_times leaving_coefs 2 (leaving_times 3)).
Proof. by split; [exact: leaving_flow | exact: leaving_mean]. Qed.

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
Print Assumptions leaf_is_a_bound.
Print Assumptions vector_confines.
Print Assumptions gain_is_at_most.
Print Assumptions vector_is_a_bound.
Print Assumptions intercept_is_best_at_the_mean.
Print Assumptions ridge_is_curvature.
Print Assumptions rounded_columns_suffice.
Print Assumptions curvature_is_proved.
Print Assumptions weights_are_semidefinite.
Print Assumptions rounding_is_at_most.
Print Assumptions dominant_is_semidefinite.
Print Assumptions largest_sum_is_a_bound.
Print Assumptions largest_sum_is_attained.
Print Assumptions all_subsets_are_covered.
Print Assumptions subset_certificates_are_sound.
Print Assumptions flows_exist.
Print Assumptions flows_agree.
Print Assumptions pieces_are_saddles.
Print Assumptions saddles_begin_pieces.
Print Assumptions saddles_are_least_squares.
Print Assumptions feature_is_zero.
Print Assumptions state_is_of_the_mean.
Print Assumptions mean_is_of_the_lasso.
Print Assumptions excess_of_the_mean.
Print Assumptions steady_mean_is_of_the_lasso.
Print Assumptions mean_is_of_the_lasso_throughout.
Print Assumptions lasso_path_is_the_mean.
Print Assumptions flow_before_the_first_event.
Print Assumptions first_event.
Print Assumptions active_features_arrive_together.
Print Assumptions forced_flow_is_projected.
Print Assumptions flow_step_is_active.
Print Assumptions restarted_flow_is_omp.
Print Assumptions first_events_are_picks_of_omp.
Print Assumptions mean_need_not_be_of_the_lasso.
