(* The objective of Sequential LASSO, its optimality conditions, and what all its minimisers share.

   F(b, lam) = |y - Xb|²/2 + lam * sum of |b_i| over i not in S, with u = y - Xb the residual. For u and delta:

     F(b + delta) - F(b) = |X delta|²/2 - sum delta_i X_i'u + lam * (sum off S of |b_i + delta_i| - |b_i|). *)
From mathcomp Require Import all_ssreflect all_algebra.
From sparselin Require Import ordered_field inner_product.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.POrderTheory Order.TotalTheory.
Local Open Scope ring_scope.

Section Lasso.
Variable R : realFieldType.
Add Field R_field : (ordered_field_field R).

Section Definitions.
Variables (n d : nat) (X : 'M[R]_(n, d)) (y : 'cV[R]_n) (S : {set 'I_d}).
Implicit Types (b : 'cV[R]_d) (lam : R).

Definition penalty b : R := \sum_(i | i \notin S) `|b i 0|.
Definition objective lam b : R := 2%:R^-1 * sq (y - X *m b) + lam * penalty b.
Definition minimiser lam b := forall b', objective lam b <= objective lam b'.

Definition zero_off b := forall i, i \notin S -> b i 0 = 0.

(* X_i'u = 0 on S; off S, |X_i'u| <= lam, and X_i'u = lam * sign(b_i) where b_i is not zero *)
Definition optimality lam b :=
  (forall i, i \in S -> corr X (y - X *m b) i = 0) /\
  (forall i, i \notin S -> `|corr X (y - X *m b) i| <= lam /\
    (b i 0 != 0 -> corr X (y - X *m b) i = lam * Num.sg (b i 0))).
End Definitions.

Variables (n d : nat) (X : 'M[R]_(n, d)) (y : 'cV[R]_n) (S : {set 'I_d}).
Implicit Types (b delta : 'cV[R]_d) (lam : R).
Notation F := (objective X y S).

Lemma objective_step lam b delta : F lam (b + delta) - F lam b =
  2%:R^-1 * sq (X *m delta) - \sum_i delta i 0 * corr X (y - X *m b) i
    + lam * (penalty S (b + delta) - penalty S b).
Proof.
rewrite /objective -dot_mul mulmxDr opprD addrA sqB.
set c := dot _ _; set s := sq _; set t := sq _.
have e : 2%:R^-1 * (s - 2%:R * c + t) = 2%:R^-1 * s - c + 2%:R^-1 * t.
  by rewrite mulrDr mulrBr mulrA mulVf ?mul1r // pnatr_eq0.
by rewrite e; move: (2%:R^-1) => h; to_ring R; ring.
Qed.

(* Where the conditions hold, F grows by at least |X(b' - b)|²/2. *)
Lemma optimality_growth lam b b' : 0 <= lam -> optimality X y S lam b ->
  2%:R^-1 * sq (X *m (b' - b)) <= F lam b' - F lam b.
Proof.
move=> lam0 [onS offS].
have {2}-> : b' = b + (b' - b) by rewrite addrC subrK.
rewrite objective_step (bigID (mem S)) /= big1 => [|i iS]; last by rewrite onS // mulr0.
rewrite add0r -addrA ler_addl addrC subr_ge0 /penalty -sumrB mulr_sumr.
apply: ler_sum => i iS; have [le_lam at_lam] := offS i iS.
rewrite [b + _]addrC subrK !mxE mulrBl mulrBr; apply: ler_sub.
  apply: le_trans (ler_norm _) _; rewrite normrM mulrC ler_wpmul2r //.
have [->|b0] := eqVneq (b i 0) 0; first by rewrite normr0 mulr0 mul0r.
by rewrite (at_lam b0) mulrCA [b i 0 * _]mulrC mulrr_sg.
Qed.

Theorem optimality_sufficient lam b : 0 <= lam -> optimality X y S lam b -> minimiser X y S lam b.
Proof.
move=> lam0 opt b'; rewrite -subr_ge0; apply: le_trans (optimality_growth b' lam0 opt).
by rewrite mulr_ge0 ?sq_ge0 // invr_ge0 ler0n.
Qed.

Lemma penalty_step b i t : penalty S (b + t *: delta_mx i 0) - penalty S b =
  if i \in S then 0 else `|b i 0 + t| - `|b i 0|.
Proof.
rewrite /penalty -sumrB.
have other j : j != i -> `|(b + t *: delta_mx i 0) j 0| - `|b j 0| = 0.
  by move=> ji; rewrite !mxE (negbTE ji) mulr0 addr0 subrr.
case: ifPn => iS; first by apply: big1 => j jS; apply: other; apply: contraNneq jS => ->.
rewrite (bigD1 i) //= big1 => [|j /andP[_]]; last exact: other.
by rewrite !mxE !eqxx mulr1 addr0.
Qed.

Lemma objective_along lam b i t : F lam (b + t *: delta_mx i 0) - F lam b =
  2%:R^-1 * sq (col i X) * t ^+ 2 - t * corr X (y - X *m b) i
    + lam * (if i \in S then 0 else `|b i 0 + t| - `|b i 0|).
Proof.
rewrite objective_step penalty_step -scalemxAr -col_mul sqZ; congr (_ - _ + _).
  by rewrite mulrA mulrAC.
rewrite (bigD1 i) //= big1 => [|j ji]; last by rewrite !mxE (negbTE ji) mulr0 mul0r.
by rewrite !mxE !eqxx mulr1 addr0.
Qed.

Lemma norm_add (x t : R) : x != 0 -> `|t| <= `|x| -> `|x + t| = `|x| + Num.sg x * t.
Proof.
have [xp|xn|//] := ltrgt0P x.
  move=> _; rewrite (gtr0_sg xp) mul1r ler_norml => /andP[le_t _].
  by rewrite ger0_norm // -ler_subl_addl sub0r.
move=> _; rewrite (ltr0_sg xn) mulN1r ler_norml => /andP[_ le_t].
by rewrite ler0_norm ?opprD // -ler_subr_addl sub0r.
Qed.

Theorem optimality_necessary lam b : 0 <= lam -> minimiser X y S lam b -> optimality X y S lam b.
Proof.
move=> lam0 min.
pose a i := 2%:R^-1 * sq (col i X).
have a0 i : 0 <= a i by rewrite mulr_ge0 ?sq_ge0 // invr_ge0 ler0n.
pose c := corr X (y - X *m b).
have along i t : 0 <= a i * t ^+ 2 - t * c i
    + lam * (if i \in S then 0 else `|b i 0 + t| - `|b i 0|).
  by rewrite -objective_along subr_ge0 min.
have both i g m : 0 < m -> (forall t, `|t| <= m ->
    a i * t ^+ 2 - t * c i + lam * (if i \in S then 0 else `|b i 0 + t| - `|b i 0|)
      = a i * t ^+ 2 - t * (c i - g)) -> c i = g.
  move=> m0 H; apply/eqP; rewrite -subr_eq0 eq_le; apply/andP; split.
    apply: (first_order (a0 i) m0) => t t0 tm.
    by rewrite -H ?along // ger0_norm // ltW.
  rewrite -oppr_le0; apply: (first_order (a0 i) m0) => t t0 tm.
  have := along i (- t); rewrite H ?normrN ?ger0_norm ?(ltW t0) //.
  by rewrite sqrrN mulNr mulrN.
split=> i iS.
  apply: (both i 0 1) => // t _.
  by rewrite iS mulr0 addr0 subr0.
split; last first.
  move=> b0; apply: (both i _ `|b i 0|); first by rewrite normr_gt0.
  move=> t tm; rewrite (negbTE iS) (norm_add b0 tm).
  by move: `|b i 0| (Num.sg _) => p q; to_ring R; ring.
have [be|b0] := eqVneq (b i 0) 0; last first.
  have -> : corr X (y - X *m b) i = lam * Num.sg (b i 0).
    apply: (both i _ `|b i 0|); first by rewrite normr_gt0.
    move=> t tm; rewrite (negbTE iS) (norm_add b0 tm).
    by move: `|b i 0| (Num.sg _) => p q; to_ring R; ring.
  by rewrite normrM normr_sg b0 mulr1 ger0_norm.
have le_lam (s : R) : `|s| = 1 -> s * c i - lam <= 0.
  move=> s1; apply: (first_order (a0 i) ltr01) => t t0 _.
  have := along i (s * t); rewrite (negbTE iS) be add0r normr0 subr0 normrM s1 mul1r (gtr0_norm t0).
  have ss : s ^+ 2 = 1 by rewrite -real_normK ?num_real // s1 expr1n.
  rewrite exprMn ss mul1r; congr (0 <= _).
  by move: (a i) (c i) => p q; to_ring R; ring.
rewrite ler_norml; apply/andP; split.
  by have := le_lam (-1) (normrN1 _); rewrite mulN1r subr_le0 ler_oppl.
by have := le_lam 1 (normr1 _); rewrite mul1r subr_le0.
Qed.

Theorem optimality_minimiser lam b : 0 <= lam -> minimiser X y S lam b <-> optimality X y S lam b.
Proof. by move=> lam0; split; [exact: optimality_necessary | exact: optimality_sufficient]. Qed.

Theorem minimisers_fit lam b b' : 0 <= lam ->
  minimiser X y S lam b -> minimiser X y S lam b' -> X *m b = X *m b'.
Proof.
move=> lam0 min min'.
have := optimality_growth b' lam0 (optimality_necessary lam0 min).
have -> : F lam b' - F lam b = 0 by apply/eqP; rewrite subr_eq0 eq_le min min'.
rewrite pmulr_rle0 ?invr_gt0 ?ltr0n // => le0.
have : sq (X *m (b' - b)) == 0 by rewrite eq_le le0 sq_ge0.
by rewrite sq_eq0 mulmxBr subr_eq0 => /eqP.
Qed.

Theorem minimisers_penalty lam b b' : 0 < lam ->
  minimiser X y S lam b -> minimiser X y S lam b' -> penalty S b = penalty S b'.
Proof.
move=> lam0 min min'.
have : F lam b = F lam b' by apply/eqP; rewrite eq_le min min'.
rewrite /objective (minimisers_fit (ltW lam0) min min') => /addrI/mulfI; apply.
by rewrite gt_eqF.
Qed.
End Lasso.
