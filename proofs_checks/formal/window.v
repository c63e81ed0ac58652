(* Theorem 3.3: just below L, the lambda* of the paper, every minimiser has its nonzeros off S within T.

   Let 0 < lam < L, tau = 1 - lam/L, u the residual of a minimiser, w = r - u. The dual polytope
   C = {v : X_S'v = 0, |X_i'v| <= lam off S} contains (1 - tau)r, and u is the projection of r on it:

     <w, v - u> <= 0 for v in C,   so   |w|² <= tau <w, r>,   |w| <= tau |r|,   |X_i'w| <= tau M_i

   for every M_i >= |X_i||r|. So |X_i'u| <= |c_i| + tau M_i, which is less than lam, and b_i = 0, where

     lam > L(M_i + |c_i|) / (M_i + L).

   In T, where lam > L(M_i - L) / (M_i + L), X_i'u has the sign of c_i if it is +-lam. *)
From mathcomp Require Import all_ssreflect all_algebra.
From sparselin Require Import ordered_field inner_product lasso residual existence.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.POrderTheory Order.TotalTheory.
Local Open Scope ring_scope.

Section Window.
Variable R : realFieldType.
Add Field R_field : (ordered_field_field R).

Section Definitions.
Variables (n d : nat) (X : 'M[R]_(n, d)) (y : 'cV[R]_n) (S : {set 'I_d}).

(* M_i >= |X_i||r|, without roots *)
Definition bounds (M : 'I_d -> R) :=
  forall i, 0 <= M i /\ sq (col i X) * sq (residual X S y) <= M i ^+ 2.

Definition mean_bound i : R := (sq (col i X) + sq (residual X S y)) / 2%:R.

Definition window_start (M : 'I_d -> R) : R :=
  let L := lambda_star X S y in
  maximum (fun i => i \notin S) (fun i =>
    if i \in tied X S y then L * (M i - L) / (M i + L)
    else L * (M i + `|correlation X S y i|) / (M i + L)).

Definition dual_polytope lam (v : 'cV[R]_n) :=
  (forall i, i \in S -> corr X v i = 0) /\ (forall i, i \notin S -> `|corr X v i| <= lam).
End Definitions.

Variables (n d : nat) (X : 'M[R]_(n, d)) (y : 'cV[R]_n) (S : {set 'I_d}).
Implicit Types (b : 'cV[R]_d) (lam : R) (i : 'I_d) (v w : 'cV[R]_n).
Notation r := (residual X S y).
Notation c := (correlation X S y).
Notation L := (lambda_star X S y).
Notation T := (tied X S y).

Lemma mean_bounds : bounds X y S (mean_bound X y S).
Proof.
move=> i; rewrite /mean_bound; have := sq_ge0 (col i X); have := sq_ge0 r.
move: (sq (col i X)) (sq r) => b a a0 b0; split; first by rewrite divr_ge0 ?ler0n // addr_ge0.
apply: (@le_by _ (((b - a) / 2%:R) ^+ 2)); first exact: sqr_ge0.
have : (2%:R : R) * 2%:R^-1 = 1 by rewrite mulfV ?pnatr_eq0.
move: 2%:R^-1 => h; rewrite mulr_natl => h1.
have -> : b * a = b * a * ((h *+ 2) * (h *+ 2)) by rewrite h1 !mulr1.
by to_ring R; ring.
Qed.

(* <Xb - Xb', v - u> <= 0 for v in the dual polytope and b' zero off S: u is a projection on it. *)
Lemma dual_inequality lam b b' v : 0 <= lam -> minimiser X y S lam b -> zero_off S b' ->
  dual_polytope X S lam v -> dot (X *m (b - b')) (v - (y - X *m b)) <= 0.
Proof.
move=> lam0 min b'0 [onv offv]; have [on offS] := optimality_necessary lam0 min.
rewrite dotC dot_mul; rewrite -oppr_ge0 -sumrN; apply: sumr_ge0 => i _; rewrite oppr_ge0.
have [iS|iS] := boolP (i \in S); first by rewrite corrB onv // on // subrr mulr0.
have [le_lam at_lam] := offS i iS.
rewrite corrB !mxE b'0 // subr0 mulrBr subr_le0.
have [->|b0] := eqVneq (b i 0) 0; first by rewrite !mul0r.
rewrite (at_lam b0) mulrCA [b i 0 * Num.sg _]mulrC mulrr_sg.
apply: le_trans (ler_norm _) _; rewrite normrM mulrC.
by apply: ler_wpmul2l; rewrite ?normr_ge0 ?offv.
Qed.

Lemma residual_in_polytope lam : L <= lam -> dual_polytope X S lam r.
Proof. by move=> le; split=> i iS; [exact: correlation_on | exact: le_trans (le_lambda_star X y iS) le]. Qed.

Lemma minimiser_on lam b i : 0 <= lam -> minimiser X y S lam b -> i \in S -> corr X (y - X *m b) i = 0.
Proof. by move=> lam0 /(optimality_necessary lam0)[on _] /on. Qed.

Section Bounds.
Variable M : 'I_d -> R.
Hypothesis M_bounds : bounds X y S M.
Hypothesis L_gt0 : 0 < L.
Notation start := (window_start X y S M).

Lemma window_start_ge0 : 0 <= start.
Proof. exact: maximum_ge0. Qed.

Lemma M_gt0 i : 0 < M i + L.
Proof. by have [M0 _] := M_bounds i; rewrite ltr_paddl. Qed.

Lemma window_start_lt : start < L.
Proof.
apply: maximum_lt => // i iS; have MP := M_gt0 i.
case: ifPn => iT; rewrite ltr_pdivr_mulr // ltr_pmul2l //; last by rewrite ltr_add2l lt_lambda_star.
by rewrite ltr_add2l gt0_cp.
Qed.

Variable lam : R.
Hypotheses (lam_start : start < lam) (lam_L : lam < L).
Let tau := 1 - lam / L.

Lemma lam_gt0 : 0 < lam.
Proof. exact: le_lt_trans window_start_ge0 lam_start. Qed.

Lemma tau_gt0 : 0 < tau.
Proof. by rewrite subr_gt0 ltr_pdivr_mulr // mul1r. Qed.

Lemma lamE : lam = (1 - tau) * L.
Proof. by rewrite opprB addrC subrK divfK // gt_eqF. Qed.

Lemma off_tied i : i \notin S -> i \notin T -> `|c i| + tau * M i < lam.
Proof.
move=> iS iT; have : L * (M i + `|c i|) / (M i + L) < lam.
  apply: le_lt_trans lam_start.
  have := le_maximum (P := fun i => i \notin S) (fun i => if i \in T then L * (M i - L) / (M i + L)
    else L * (M i + `|c i|) / (M i + L)) iS.
  by rewrite (negbTE iT).
rewrite ltr_pdivr_mulr ?M_gt0 //.
have -> : lam * (M i + L) = L * ((1 - tau) * (M i + L)) by rewrite {1}lamE -mulrA mulrCA mulrA.
rewrite ltr_pmul2l // -subr_gt0 => lt; apply: lt_by lt _; rewrite lamE.
by move: (M i) `|c i| tau L => m a t l; to_ring R; ring.
Qed.

(* No minimiser reaches the opposite face of a tied feature. *)
Lemma on_tied i : i \in T -> tau * M i < L + lam.
Proof.
move=> iT; have [iS _] := tiedP X y S i iT; have : L * (M i - L) / (M i + L) < lam.
  apply: le_lt_trans lam_start.
  have := le_maximum (P := fun i => i \notin S) (fun i => if i \in T then L * (M i - L) / (M i + L)
    else L * (M i + `|c i|) / (M i + L)) iS.
  by rewrite iT.
rewrite ltr_pdivr_mulr ?M_gt0 //.
have -> : lam * (M i + L) = L * ((1 - tau) * (M i + L)) by rewrite {1}lamE -mulrA mulrCA mulrA.
rewrite ltr_pmul2l // -subr_gt0 => lt; apply: lt_by lt _; rewrite lamE.
by move: (M i) tau L => m t l; to_ring R; ring.
Qed.

(* |w|² <= tau <w, r> implies |X_i'w| <= tau M_i *)
Lemma near w i : sq w <= tau * dot w r -> `|corr X w i| <= tau * M i.
Proof.
move=> le_w; have [M0 MM] := M_bounds i; have t0 := tau_gt0.
apply: norm_le_of_sq; first by rewrite mulr_ge0 // ltW.
have [->|w0] := eqVneq w 0; first by rewrite corr0 expr0n sqr_ge0.
have {w0} w0 : 0 < sq w by rewrite sq_gt0.
have le_r : sq w <= tau ^+ 2 * sq r.
  rewrite -(ler_pmul2l w0); apply: (@le_trans _ _ ((tau * dot w r) ^+ 2)).
    by rewrite -expr2 ler_sqr ?nnegrE ?(ltW w0) // (le_trans _ le_w) // ltW.
  by rewrite exprMn [sq w * _]mulrCA ler_pmul2l ?exprn_gt0 // cauchy_schwarz.
apply: le_trans (corr_sq X w i) _; apply: le_trans (ler_wpmul2l (sq_ge0 _) le_r) _.
by rewrite exprMn [sq _ * _]mulrCA ler_pmul2l ?exprn_gt0.
Qed.
(* The residual of a minimiser is near r. *)
Lemma minimiser_near b : minimiser X y S lam b ->
  sq (r - (y - X *m b)) <= tau * dot (r - (y - X *m b)) r.
Proof.
move=> min; have [b' b'0 E] := fit_exists X y S.
have := dual_inequality (ltW lam_gt0) min b'0 (_ : dual_polytope X S lam ((1 - tau) *: r)).
have -> : X *m (b - b') = r - (y - X *m b) by rewrite mulmxBr -E opprB [RHS]addrC addrA subrK.
set w := r - _; have -> : (1 - tau) *: r - (y - X *m b) = w - tau *: r.
  by rewrite scalerBl scale1r addrAC.
rewrite dotBr dotZr subr_le0; apply; split=> i iS; rewrite corrZ.
  by rewrite [corr X r i]correlation_on // mulr0.
have t1 : 0 <= 1 - tau by rewrite opprB addrC subrK divr_ge0 ?ltW ?lam_gt0.
by rewrite normrM (ger0_norm t1) [X in _ <= X]lamE ler_wpmul2l // le_lambda_star.
Qed.

Lemma corr_near b i : minimiser X y S lam b -> `|c i - corr X (y - X *m b) i| <= tau * M i.
Proof. by move=> min; have := near i (minimiser_near min); rewrite corrB. Qed.

Theorem nonzeros_are_tied b i : minimiser X y S lam b -> i \notin S -> b i 0 != 0 -> i \in T.
Proof.
move=> min iS b0; apply: contraT => iT.
have [_ /(_ i iS)[_ /(_ b0) at_lam]] := optimality_necessary (ltW lam_gt0) min.
suff : `|corr X (y - X *m b) i| < lam.
  by rewrite at_lam normrM normr_sg b0 mulr1 ger0_norm ?ltxx // ltW // lam_gt0.
apply: le_lt_trans (off_tied iS iT).
rewrite -[corr _ _ _](subKr (c i)); apply: le_trans (ler_norm_sub _ _) _.
by rewrite ler_add2l corr_near.
Qed.
End Bounds.

(* Theorem 3.3 of Sequential Attention for Feature Selection, with an explicit window. *)
Theorem theorem_3_3 (M : 'I_d -> R) : bounds X y S M -> 0 < L ->
  let lam1 := window_start X y S M in
  0 <= lam1 /\ lam1 < L /\
  forall lam b, lam1 < lam -> lam < L -> minimiser X y S lam b ->
    (exists2 i, i \notin S & b i 0 != 0) /\
    (forall i, i \notin S -> b i 0 != 0 -> `|c i| = L).
Proof.
move=> Mb L0 lam1; split; first exact: window_start_ge0.
split=> [|lam b start below min]; first exact: window_start_lt Mb L0.
have lam0 := lam_gt0 start; split; first exact: nonzero_below (ltW lam0) below min.
by move=> i iS b0; case/tiedP: (nonzeros_are_tied Mb L0 start below min iS b0).
Qed.

(* Smaller bounds have a longer window: (m + a)/(m + L) increases with m where a <= L. *)
Lemma window_start_mono (M M' : 'I_d -> R) : (forall i, 0 <= M i) -> (forall i, M i <= M' i) ->
  window_start X y S M <= window_start X y S M'.
Proof.
move=> M0 le; apply: maximum_le => [|i iS]; first exact: window_start_ge0.
apply: le_trans (le_maximum (P := fun i => i \notin S) (fun i => if i \in T then L * (M' i - L) / (M' i + L)
  else L * (M' i + `|c i|) / (M' i + L)) iS).
have [L0|L0] := ltP 0 L; last first.
  have -> : L = 0 by apply/eqP; rewrite eq_le L0 lambda_star_ge0.
  by rewrite !mul0r.
have pos : 0 < M i + L by rewrite ltr_paddl.
have pos' : 0 < M' i + L by rewrite ltr_paddl // (le_trans (M0 i)).
have steps a : a <= L -> L * (M i + a) / (M i + L) <= L * (M' i + a) / (M' i + L).
  move=> aL; rewrite -!mulrA ler_pmul2l // ler_pdivr_mulr // mulrAC ler_pdivl_mulr //.
  apply: (@le_by _ ((M' i - M i) * (L - a))); first by rewrite mulr_ge0 // subr_ge0.
  by move: (M i) (M' i) L => m m' l; to_ring R; ring.
case: ifP => _; apply: steps; last exact: le_lambda_star.
by rewrite (@le_trans _ _ 0) // ?oppr_le0 ltW.
Qed.

(* The threshold that Algorithm 3 searches *)
Theorem threshold lam : 0 < lam ->
  ((exists2 b, minimiser X y S lam b & ~ zero_off S b) <-> lam < L).
Proof.
move=> lam0; split=> [[b min off]|lt]; last first.
  have [b min] := minimiser_exists X y S (ltW lam0).
  by exists b => //; apply: minimisers_below lam0 lt min.
by rewrite ltNge; apply/negP=> le; apply: off; have [] := (minimisers_above b le lam0).1 min.
Qed.
End Window.

(* Where square roots exist: |u|, and the least bounds *)
Section Norms.
Variables (R : rcfType) (n d : nat) (X : 'M[R]_(n, d)) (y : 'cV[R]_n) (S : {set 'I_d}).

Definition norm m (u : 'cV[R]_m) : R := Num.sqrt (sq u).
Definition norm_bound i : R := norm (col i X) * norm (residual X S y).

Lemma norm_bound_ge0 i : 0 <= norm_bound i.
Proof. by rewrite mulr_ge0 ?sqrtr_ge0. Qed.

Lemma norm_bound_sq i : norm_bound i ^+ 2 = sq (col i X) * sq (residual X S y).
Proof. by rewrite exprMn !sqr_sqrtr ?sq_ge0. Qed.

Theorem norm_bounds : bounds X y S norm_bound /\
  forall M, bounds X y S M -> window_start X y S norm_bound <= window_start X y S M.
Proof.
split=> [i|M Mb]; first by rewrite norm_bound_sq norm_bound_ge0.
apply: window_start_mono => i; first exact: norm_bound_ge0.
by have [M0 MM] := Mb i; rewrite -ler_sqr ?nnegrE ?norm_bound_ge0 // norm_bound_sq.
Qed.
End Norms.
