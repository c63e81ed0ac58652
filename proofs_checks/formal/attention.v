(* Theorem 1.1: regularized linear Sequential Attention picks what OMP may pick, for lam in the window.

   Equation (5) at 2 lam, with b = s(w)∘theta, s_i = 1 on S and w_i off S:

     |y - Xb|² + lam (|w|² + sum off S of theta_i²)
       = 2 F(b, lam) + lam (sum on S of w_i² + sum off S of (|w_i| - |theta_i|)²),

   and every b has w, theta for which the last bracket is 0: it takes square roots. *)
From mathcomp Require Import all_ssreflect all_algebra.
From sparselin Require Import ordered_field inner_product lasso residual existence window active.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.POrderTheory Order.TotalTheory.
Local Open Scope ring_scope.

Section Attention.
Variable R : rcfType.
Add Field R_field : (ordered_field_field R).
Variables (n d : nat) (X : 'M[R]_(n, d)) (y : 'cV[R]_n) (S : {set 'I_d}).
Implicit Types (w theta b : 'cV[R]_d) (lam : R).

(* s(w)∘theta *)
Definition hadamard w theta : 'cV[R]_d := \col_i (if i \in S then theta i 0 else w i 0 * theta i 0).

(* Equation (5) *)
Definition attention_objective lam w theta : R :=
  sq (X *m hadamard w theta - y) + lam / 2%:R * (sq w + \sum_(i | i \notin S) theta i 0 ^+ 2).

Definition attention_minimiser lam w theta :=
  forall w' theta', attention_objective lam w theta <= attention_objective lam w' theta'.

Definition imbalance w theta : R :=
  \sum_(i in S) w i 0 ^+ 2 + \sum_(i | i \notin S) (`|w i 0| - `|theta i 0|) ^+ 2.

Lemma imbalance_ge0 w theta : 0 <= imbalance w theta.
Proof. by rewrite addr_ge0 ?sumr_ge0 // => i _; exact: sqr_ge0. Qed.

Lemma imbalance_eq0 w theta : imbalance w theta = 0 <->
  (forall i, i \in S -> w i 0 = 0) /\ (forall i, i \notin S -> `|w i 0| = `|theta i 0|).
Proof.
split=> [/eqP|[on off]]; last first.
  rewrite /imbalance big1 => [|i iS]; last by rewrite on // expr0n.
  by rewrite add0r big1 // => i iS; rewrite off // subrr expr0n.
rewrite paddr_eq0 ?sumr_ge0 //; try by move=> i _; exact: sqr_ge0.
rewrite !psumr_eq0; try by move=> i _; exact: sqr_ge0.
case/andP=> /allP on /allP off; split=> i iS.
  by have := on i (mem_index_enum _); rewrite iS sqrf_eq0 => /eqP.
by have := off i (mem_index_enum _); rewrite iS sqrf_eq0 subr_eq0 => /eqP.
Qed.

Lemma attention_identity lam w theta : attention_objective (2%:R * lam) w theta =
  2%:R * objective X y S lam (hadamard w theta) + lam * imbalance w theta.
Proof.
rewrite /attention_objective /objective /imbalance /penalty.
have -> : sq (X *m hadamard w theta - y) = sq (y - X *m hadamard w theta).
  by rewrite -opprB /sq dotNl dotNr opprK.
have -> : sq w = \sum_(i in S) w i 0 ^+ 2 + \sum_(i | i \notin S) w i 0 ^+ 2.
  by rewrite /sq /dot (bigID (mem S)) /=; congr (_ + _); apply: eq_bigr.
have -> : \sum_(i | i \notin S) (`|w i 0| - `|theta i 0|) ^+ 2 = \sum_(i | i \notin S) w i 0 ^+ 2
    + \sum_(i | i \notin S) theta i 0 ^+ 2 - 2%:R * \sum_(i | i \notin S) `|hadamard w theta i 0|.
  rewrite mulr_sumr -big_split -sumrB; apply: eq_bigr => i iS /=.
  rewrite mxE (negbTE iS) normrM -[w i 0 ^+ 2]real_normK ?num_real //.
  rewrite -[theta i 0 ^+ 2]real_normK ?num_real //.
  by move: `|w i 0| `|theta i 0| => a e; to_ring R; ring.
have h : 2%:R * lam / 2%:R = lam by rewrite mulrAC mulfV ?mul1r // pnatr_eq0.
have half (a : R) : 2%:R * (2%:R^-1 * a) = a by rewrite mulrA mulfV ?mul1r // pnatr_eq0.
rewrite h [2%:R * (_ + _)]mulrDr half.
move: (sq _) (\sum_(i in S) _) (\sum_(i | i \notin S) w i 0 ^+ 2) => s p q.
move: (\sum_(i | i \notin S) theta i 0 ^+ 2) (\sum_(i | i \notin S) `|_|) => t u.
by to_ring R; ring.
Qed.

Lemma balanced b : exists w theta, hadamard w theta = b /\ imbalance w theta = 0.
Proof.
exists (\col_i (if i \in S then 0 else Num.sqrt `|b i 0|)).
exists (\col_i (if i \in S then b i 0 else Num.sg (b i 0) * Num.sqrt `|b i 0|)); split.
  apply/colP=> i; rewrite !mxE; case: (i \in S) => //.
  by rewrite mulrCA -expr2 sqr_sqrtr ?normr_ge0 // -numEsg.
apply/imbalance_eq0; split=> i iS; rewrite !mxE ?iS // (negbTE iS) normrM normr_sg.
by have [->|_] := eqVneq (b i 0) 0; rewrite ?normr0 ?sqrtr0 ?normr0 ?mulr0 // mul1r.
Qed.

Theorem attention_minimisers lam w theta : 0 < lam ->
  attention_minimiser (2%:R * lam) w theta <->
  [/\ minimiser X y S lam (hadamard w theta), forall i, i \in S -> w i 0 = 0 &
      forall i, i \notin S -> `|w i 0| = `|theta i 0|].
Proof.
move=> lam0; have two : (0 : R) < 2%:R by rewrite ltr0n.
split=> [min|[min on off] w' theta']; last first.
  rewrite !attention_identity (imbalance_eq0 w theta).2 // mulr0 addr0.
  apply: (@le_trans _ _ (2%:R * objective X y S lam (hadamard w' theta'))).
    by rewrite ler_pmul2l.
  by rewrite ler_addl mulr_ge0 ?imbalance_ge0 // ltW.
have at_most b : 2%:R * objective X y S lam (hadamard w theta) + lam * imbalance w theta
    <= 2%:R * objective X y S lam b.
  have [w' [theta' [<- zero]]] := balanced b.
  by have := min w' theta'; rewrite !attention_identity zero mulr0 addr0.
have zero : imbalance w theta = 0.
  apply/eqP; rewrite eq_le imbalance_ge0 andbT -(pmulr_rle0 _ lam0).
  by have := at_most (hadamard w theta); rewrite ger_addl.
have [on off] := (imbalance_eq0 w theta).1 zero; split=> // b.
by have := at_most b; rewrite zero mulr0 addr0 ler_pmul2l.
Qed.

Theorem attention_minimiser_exists lam : 0 < lam ->
  exists w theta, attention_minimiser (2%:R * lam) w theta.
Proof.
move=> lam0; have [b min] := minimiser_exists X y S (ltW lam0).
have [w [theta [E /imbalance_eq0[on off]]]] := balanced b.
by exists w, theta; apply/(attention_minimisers w theta lam0); rewrite E.
Qed.

(* Theorem 1.1, for lam in the window: (5) at 2 lam selects a member of A(S), of largest correlation. *)
Theorem theorem_1_1 (M : 'I_d -> R) lam w theta i : bounds X y S M -> 0 < lambda_star X S y ->
  window_start X y S M < lam -> lam < lambda_star X S y ->
  attention_minimiser (2%:R * lam) w theta ->
  i \notin S -> (forall j, j \notin S -> `|w j 0| <= `|w i 0|) ->
  active X y S i /\ i \in tied X S y.
Proof.
move=> Mb L0 start lt att iS largest; have lam0 := lam_gt0 start.
have [min on off] := (attention_minimisers w theta lam0).1 att.
suff act : active X y S i by split=> //; exact: active_tied act.
apply/(active_nonzero L0 Mb start lt iS); exists (hadamard w theta) => //; rewrite mxE (negbTE iS).
have wi : w i 0 != 0; last by rewrite mulf_neq0 // -normr_eq0 -off // normr_eq0.
have [j jS bj] := nonzero_below (ltW lam0) lt min.
rewrite -normr_gt0; apply: lt_le_trans (largest j jS); rewrite normr_gt0.
by apply: contraNneq bj => wj; rewrite mxE (negbTE jS) wj mul0r.
Qed.
End Attention.
