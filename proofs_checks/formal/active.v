(* Ties: which tied features are nonzero in some minimiser just below L, the lambda* of the paper.

   A direction is a delta with X delta orthogonal to X_S, zero off S and T, with c_i delta_i > 0 and
   X_i'X delta = c_i where delta_i is not zero off S, and |X_i'X delta| >= L with the sign of c_i in T.
   With b0 a least squares fit on S and lam = (1 - tau)L in the window,

     b0 + tau delta minimises F(., lam)   and   (b - b0)/tau is a direction for every minimiser b,

   by the optimality conditions. Off S, the delta_i = L s_i v_i, with s_i = sign c_i, are given by the minimisers v
   of |Zv - r/L|² over v >= 0, as X delta = L Zv: the optimality conditions are the same. *)
From mathcomp Require Import all_ssreflect all_algebra.
From sparselin Require Import ordered_field inner_product lasso residual existence window.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.POrderTheory Order.TotalTheory.
Local Open Scope ring_scope.

Section Active.
Variable R : realFieldType.
Add Field R_field : (ordered_field_field R).

Section Definitions.
Variables (n d : nat) (X : 'M[R]_(n, d)) (y : 'cV[R]_n) (S : {set 'I_d}).

Definition direction (delta : 'cV[R]_d) :=
  let c := correlation X S y in let T := tied X S y in let b := corr X (X *m delta) in
  (forall i, i \in S -> b i = 0) /\
  (forall i, i \notin S ->
    (delta i 0 != 0 -> [/\ i \in T, 0 < c i * delta i 0 & b i = c i]) /\
    (i \in T -> lambda_star X S y ^+ 2 <= c i * b i)).

(* z_i = sign(c_i) P_S^⊥X_i for i in T, else 0 *)
Definition signed_residuals : 'M[R]_(n, d) := \matrix_(k, i)
  (if i \in tied X S y then Num.sg (correlation X S y i) * residual X S (col i X) k 0 else 0).

Definition nonnegative_least_squares (v : 'cV[R]_d) :=
  let Z := signed_residuals in let target := (lambda_star X S y)^-1 *: residual X S y in
  in_cone (tied X S y) v /\
  forall v', in_cone (tied X S y) v' -> sq (Z *m v - target) <= sq (Z *m v' - target).

(* A(S) *)
Definition active i := exists2 v, nonnegative_least_squares v & 0 < v i 0.
End Definitions.

Variables (n d : nat) (X : 'M[R]_(n, d)) (y : 'cV[R]_n) (S : {set 'I_d}).
Implicit Types (b delta : 'cV[R]_d) (lam : R) (i : 'I_d) (v w : 'cV[R]_n).
Notation r := (residual X S y).
Notation c := (correlation X S y).
Notation L := (lambda_star X S y).
Notation T := (tied X S y).
Notation Z := (signed_residuals X y S).

Section Window.
Variable M : 'I_d -> R.
Hypothesis M_bounds : bounds X y S M.
Hypothesis L_gt0 : 0 < L.
Variable lam : R.
Hypotheses (lam_start : window_start X y S M < lam) (lam_L : lam < L).
Let tau := 1 - lam / L.
Let tau0 : 0 < tau. Proof. exact: tau_gt0. Qed.
Let lam0 : 0 < lam. Proof. exact: lam_gt0 lam_start. Qed.
Let lam_tau : lam = (1 - tau) * L. Proof. exact: lamE. Qed.

Lemma tied_sign i : i \in T -> c i = Num.sg (c i) * L.
Proof. by case/tiedP => _ <-; rewrite -numEsg. Qed.

Lemma tied_neq0 i : i \in T -> c i != 0.
Proof. by case/tiedP => _ cL; rewrite -normr_eq0 cL gt_eqF. Qed.

Lemma tied_norm_sg i : i \in T -> `|Num.sg (c i)| = 1.
Proof. by move=> iT; rewrite normr_sg tied_neq0. Qed.

Lemma tied_sg2 i : i \in T -> Num.sg (c i) * Num.sg (c i) = 1.
Proof. by move=> iT; rewrite -expr2 sqr_sg tied_neq0. Qed.

Lemma direction_near delta : direction X y S delta ->
  sq (tau *: (X *m delta)) <= tau * dot (tau *: (X *m delta)) r.
Proof.
move=> [on off]; rewrite sqZ dotZl expr2 -!mulrA ler_pmul2l // ler_pmul2l // le_eqVlt; apply/orP; left.
rewrite /sq dot_mul dotC dot_mul; apply/eqP/eq_bigr => i _.
have [iS|iS] := boolP (i \in S); first by rewrite on // [corr X r i]correlation_on.
have [->|di] := eqVneq (delta i 0) 0; first by rewrite !mul0r.
by have [/(_ di)[_ _ ->] _] := off i iS.
Qed.

Lemma direction_minimiser b delta : zero_off S b -> y - X *m b = r -> direction X y S delta ->
  minimiser X y S lam (b + tau *: delta).
Proof.
move=> b0 E dir; have small i := near M_bounds L_gt0 lam_L i (direction_near dir).
have [on off] := dir; apply: optimality_sufficient (ltW lam0) _.
have Eu : y - X *m (b + tau *: delta) = r - tau *: (X *m delta).
  by rewrite mulmxDr -scalemxAr opprD addrA E.
rewrite /optimality Eu; split=> i iS.
  by rewrite corrB corrZ on // mulr0 subr0 [LHS]correlation_on.
have [nonzero at_T] := off i iS; split; last first.
  rewrite !mxE b0 // add0r => di; have {di} di : delta i 0 != 0.
    by apply: contraNneq di => ->; rewrite mulr0.
  have [iT pos e] := nonzero di; rewrite corrB corrZ e sgrM (gtr0_sg tau0) mul1r.
  have -> : Num.sg (delta i 0) = Num.sg (c i).
    have := gtr0_sg pos; rewrite sgrM => sgs.
    by rewrite -[LHS]mul1r -(tied_sg2 iT) -mulrA sgs mulr1.
  rewrite -/(c i) {1 2}[c i](tied_sign iT) lam_tau.
  by move: (Num.sg _) => s; move: tau L => t l; to_ring R; ring.
have [iT|iT] := boolP (i \in T); last first.
  apply: ltW; apply: le_lt_trans (off_tied M_bounds L_gt0 lam_start iS iT).
  by rewrite corrB; apply: le_trans (ler_norm_sub _ _) _; rewrite ler_add2l small.
set w := tau *: _ in small *; set s := Num.sg (c i).
have cE := tied_sign iT; have s2 := tied_sg2 iT; rewrite -/s in cE s2.
have norm_s : `|s| = 1 by exact: tied_norm_sg.
have -> : `|corr X (r - w) i| = `|L - s * corr X w i|.
  rewrite -[LHS]mul1r -norm_s -normrM corrB mulrBr -/(c i) {1}cE mulrA s2 mul1r //.
rewrite ler_norml; apply/andP; split.
  rewrite ler_subr_addr addrC -ler_subr_addr opprK.
  apply: le_trans (ler_norm _) _; rewrite normrM norm_s mul1r.
  by apply: le_trans (small i) _; rewrite ltW // on_tied.
rewrite ler_subl_addr -ler_subl_addl lam_tau.
have -> : L - (1 - tau) * L = tau * L by move: tau L => t l; to_ring R; ring.
rewrite /w corrZ mulrCA ler_pmul2l // -(ler_pmul2l L_gt0) mulrA [L * s]mulrC -cE -expr2.
exact: at_T.
Qed.

Lemma minimiser_direction b b0 : minimiser X y S lam b -> zero_off S b0 -> y - X *m b0 = r ->
  direction X y S (tau^-1 *: (b - b0)).
Proof.
move=> min b00 E; have [on off] := optimality_necessary (ltW lam0) min.
have corr_delta i : corr X (X *m (tau^-1 *: (b - b0))) i = tau^-1 * (c i - corr X (y - X *m b) i).
  rewrite -scalemxAr corrZ -corrB; congr (_ * corr _ _ _).
  by rewrite mulmxBr -E opprB [RHS]addrC addrA subrK.
split=> i iS; first by rewrite corr_delta on // correlation_on // subrr mulr0.
have [le_lam at_lam] := off i iS; rewrite corr_delta; split; last first.
  move=> iT; rewrite mulrCA -ler_pdivr_mull ?invr_gt0 // invrK.
  have cL : c i * c i = L ^+ 2 by rewrite -expr2 -real_normK ?num_real //; case/tiedP: iT => _ ->.
  rewrite mulrBr cL; apply: (@le_by _ (L * lam - c i * corr X (y - X *m b) i)).
    rewrite subr_ge0; apply: le_trans (ler_norm _) _; rewrite normrM.
    by case/tiedP: iT => _ ->; rewrite ler_wpmul2l // ltW.
  by rewrite lam_tau; move: (corr _ _ _) => e; move: tau L => t l; to_ring R; ring.
rewrite mxE [(b - b0) i 0]mxE [(- b0) i 0]mxE b00 // subr0 mulf_eq0 invr_eq0 gt_eqF //= => bi.
have iT := nonzeros_are_tied M_bounds L_gt0 lam_start lam_L min iS bi.
have near_i := corr_near M_bounds L_gt0 lam_start lam_L i min.
have sg_b : Num.sg (b i 0) = Num.sg (c i).
  apply/eqP; apply: contraT => sgs; have := on_tied M_bounds L_gt0 lam_start iT.
  move: near_i; rewrite at_lam // {1}[c i]tied_sign //.
  have -> : Num.sg (b i 0) = - Num.sg (c i).
    have b1 : Num.sg (b i 0) != 0 by rewrite sgr_eq0.
    have c1 : Num.sg (c i) != 0 by rewrite sgr_eq0 tied_neq0.
    by move: sgs b1 c1; case: (sgrP (b i 0)) => _; case: (sgrP (c i)) => _; rewrite ?eqxx ?opprK.
  rewrite mulrN opprK [lam * _]mulrC -mulrDr normrM.
  have pos : 0 <= L + lam by apply: addr_ge0; apply: ltW.
  rewrite tied_norm_sg // mul1r ger0_norm // => le lt.
  by have := le_lt_trans le lt; rewrite ltxx.
split=> //; last first.
  rewrite at_lam // sg_b {1 3}[c i]tied_sign // {1}lam_tau.
  have t0 : tau != 0 by rewrite gt_eqF.
  apply: (mulfI t0); rewrite mulrA mulfV // mul1r.
  by move: (Num.sg _) => s; move: tau L => t l; to_ring R; ring.
rewrite mulrCA mulr_gt0 ?invr_gt0 // -sgr_gt0 sgrM sg_b.
by rewrite tied_sg2.
Qed.
End Window.
End Active.
