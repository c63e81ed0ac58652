(* Where one feature i alone is tied: with z = P_S^⊥X_i, the minimisers at lam in the window have

     b_i = (1 - lam/L) c_i/|z|² = sign(c_i) (L - lam)/|z|²,   zeros elsewhere off S,   and X_S'(y - Xb) = 0. *)
From mathcomp Require Import all_ssreflect all_algebra.
From sparselin Require Import ordered_field inner_product lasso residual existence window active.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.POrderTheory Order.TotalTheory.
Local Open Scope ring_scope.

Section Single.
Variable R : realFieldType.
Variables (n d : nat) (X : 'M[R]_(n, d)) (y : 'cV[R]_n) (S : {set 'I_d}).
Implicit Types (b delta : 'cV[R]_d) (lam : R).
Notation r := (residual X S y).
Notation c := (correlation X S y).
Notation L := (lambda_star X S y).
Notation T := (tied X S y).

Variables (i : 'I_d) (M : 'I_d -> R) (lam : R).
Hypothesis M_bounds : bounds X y S M.
Hypothesis L_gt0 : 0 < L.
Hypotheses (lam_start : window_start X y S M < lam) (lam_L : lam < L).
Hypothesis T_single : T = [set i].
Notation z := (residual X S (col i X)).
Let tau := 1 - lam / L.

Let iT : i \in T. Proof. by rewrite T_single set11. Qed.
Let iS : i \notin S. Proof. by case/tiedP: iT. Qed.

Lemma single_gt0 : 0 < sq z.
Proof.
rewrite sq_gt0; apply: contraTneq (tied_neq0 L_gt0 iT) => z0.
by rewrite negbK /correlation (@corr_residual _ _ _ _ S) ?z0 ?dot0l // => j; exact: correlation_on.
Qed.

(* delta with one nonzero off S, X delta orthogonal to X_S: X delta = delta_i z *)
Lemma single_mul delta : (forall j, j \notin S -> j != i -> delta j 0 = 0) ->
  (forall j, j \in S -> corr X (X *m delta) j = 0) -> X *m delta = delta i 0 *: z.
Proof.
move=> zero orth; rewrite -(residual_id orth) residual_mul (bigD1 i) //= big1 ?addr0 // => j ji.
have [jS|jS] := boolP (j \in S); last by rewrite zero // scale0r.
have -> : col j X = X *m delta_mx j 0 by exact: col_mul.
by rewrite residual_span ?scaler0 // => l lS; rewrite mxE; case: eqVneq lS => // ->; rewrite jS.
Qed.

Lemma single_corr delta : (forall j, j \notin S -> j != i -> delta j 0 = 0) ->
  (forall j, j \in S -> corr X (X *m delta) j = 0) -> corr X (X *m delta) i = delta i 0 * sq z.
Proof.
move=> zero orth; rewrite (corr_residual i orth) single_mul // dotZr.
by congr (_ * _).
Qed.

Theorem single_minimiser b : minimiser X y S lam b <->
  [/\ forall j, j \in S -> corr X (y - X *m b) j = 0,
      forall j, j \notin S -> j != i -> b j 0 = 0
    & b i 0 = (1 - lam / L) * c i / sq z].
Proof.
have [b0 b00 E0] := fit_exists X y S.
have t0 : 0 < tau := tau_gt0 L_gt0 lam_L; have z0 := single_gt0.
have shift : b = b0 + tau *: (tau^-1 *: (b - b0)).
  by rewrite scalerA mulfV ?scale1r ?gt_eqF // addrC subrK.
have entry j : j \notin S -> (tau^-1 *: (b - b0)) j 0 = tau^-1 * b j 0.
  by move=> jS; rewrite !mxE b00 // subr0.
have corr_delta j : corr X (X *m (tau^-1 *: (b - b0))) j = tau^-1 * (c j - corr X (y - X *m b) j).
  rewrite -scalemxAr corrZ -corrB; congr (_ * corr _ _ _).
  by rewrite mulmxBr -E0 opprB [RHS]addrC addrA subrK.
have off_i j : j \notin S -> j != i -> j \notin T by move=> _ ji; rewrite T_single inE.
split=> [min|[orth zero bi]].
  have zero j : j \notin S -> j != i -> b j 0 = 0.
    move=> jS ji; apply/eqP; apply: contraNT (off_i j jS ji) => bj.
    exact: (nonzeros_are_tied M_bounds L_gt0 lam_start lam_L min jS bj).
  have orth j : j \in S -> corr X (y - X *m b) j = 0.
    exact: (minimiser_on (ltW (lam_gt0 lam_start)) min).
  split=> //; have dir := minimiser_direction M_bounds L_gt0 lam_start lam_L min b00 E0.
  have [b' min' b'i] : exists2 b', minimiser X y S lam b' & b' i 0 != 0.
    apply/(active_nonzero L_gt0 M_bounds lam_start lam_L iS).
    have [j act] := active_exists L_gt0.
    by have := active_tied act; rewrite T_single inE => /eqP ji; rewrite -ji.
  have bi : b i 0 != 0.
    have [j jS bj] := nonzero_below (ltW (lam_gt0 lam_start)) lam_L min.
    by apply: contraNneq bj => bi; have [->|/(zero j jS)->] := eqVneq j i; rewrite ?bi.
  have [dorth doff] := dir; have [nonzero _] := doff i iS.
  have [|_ _] := nonzero; first by rewrite entry // mulf_neq0 ?invr_eq0 ?(gt_eqF t0).
  have dzero j : j \notin S -> j != i -> (tau^-1 *: (b - b0)) j 0 = 0.
    by move=> jS ji; rewrite entry // zero // mulr0.
  rewrite (single_corr dzero dorth).
  by rewrite entry // => e; rewrite -/tau -mulrA -e mulfK ?(gt_eqF z0) // mulVKf // gt_eqF.
suff : minimiser X y S lam (b0 + tau *: (tau^-1 *: (b - b0))) by rewrite -shift.
apply: (direction_minimiser M_bounds L_gt0 lam_start lam_L b00 E0).
have dorth j : j \in S -> corr X (X *m (tau^-1 *: (b - b0))) j = 0.
  by move=> jS; rewrite corr_delta orth // correlation_on // subrr mulr0.
have dzero j : j \notin S -> j != i -> (tau^-1 *: (b - b0)) j 0 = 0.
  by move=> jS ji; rewrite entry // zero // mulr0.
have di : (tau^-1 *: (b - b0)) i 0 = c i / sq z.
  by rewrite entry // bi -/tau -mulrA mulKf // gt_eqF.
have ci : corr X (X *m (tau^-1 *: (b - b0))) i = c i.
  by rewrite single_corr // di divfK // gt_eqF.
have c2 : c i * c i = L ^+ 2 by rewrite -expr2 -real_normK ?num_real //; case/tiedP: iT => _ ->.
split=> // j jS; have [->|ji] := eqVneq j i.
  by rewrite ci c2; split=> // _; split=> //; rewrite di mulrA c2 divr_gt0 ?exprn_gt0.
by rewrite dzero // eqxx; split=> // jT; have := off_i j jS ji; rewrite jT.
Qed.
End Single.
