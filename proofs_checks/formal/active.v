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
Implicit Types (b delta v : 'cV[R]_d) (lam : R) (i : 'I_d) (w : 'cV[R]_n).
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

(* P_S^⊥ is linear. *)
Lemma residual_add (v w : 'cV[R]_n) : residual X S (v + w) = residual X S v + residual X S w.
Proof.
have [[v0 [a a0 Ea]] [w0 [b b0 Eb]]] := (residual_exists X S v, residual_exists X S w).
apply: residual_eq; split=> [i iS|]; first by rewrite corrD v0 // w0 // addr0.
exists (a + b) => [i iS|]; first by rewrite mxE a0 // b0 // addr0.
by rewrite mulmxDr -Ea -Eb opprD addrACA.
Qed.

Lemma residual_scale a (v : 'cV[R]_n) : residual X S (a *: v) = a *: residual X S v.
Proof.
have [v0 [b b0 Eb]] := residual_exists X S v.
apply: residual_eq; split=> [i iS|]; first by rewrite corrZ v0 // mulr0.
by exists (a *: b) => [i iS|]; [rewrite mxE b0 // mulr0 | rewrite -scalemxAr -Eb scalerBr].
Qed.

Lemma mul_sum_col m (A : 'M[R]_(n, m)) (b : 'cV[R]_m) : A *m b = \sum_i b i 0 *: col i A.
Proof. by apply/colP=> k; rewrite mxE summxE; apply: eq_bigr => i _; rewrite !mxE mulrC. Qed.

Lemma residual_mul b : residual X S (X *m b) = \sum_i b i 0 *: residual X S (col i X).
Proof.
have add0 : residual X S 0 = 0 by have := residual_scale 0 0; rewrite scale0r scale0r.
rewrite mul_sum_col; elim/big_rec2: _ => // i v w _ <-.
by rewrite residual_add residual_scale.
Qed.

Lemma residual_id (v : 'cV[R]_n) : (forall i, i \in S -> corr X v i = 0) -> residual X S v = v.
Proof.
move=> v0; apply: residual_eq; split=> //; exists 0; last by rewrite subrr mulmx0.
by move=> i _; rewrite mxE.
Qed.

Lemma residual_span b : zero_off S b -> residual X S (X *m b) = 0.
Proof.
move=> b0; apply: residual_eq; split=> [i _|]; first by rewrite corr0.
by exists b; rewrite ?subr0.
Qed.

(* <X_i, w> = <P_S^⊥X_i, w> for w orthogonal to X_S *)
Lemma corr_residual w i : (forall j, j \in S -> corr X w j = 0) ->
  corr X w i = dot (residual X S (col i X)) w.
Proof.
move=> w0; have [_ [b b0 E]] := residual_exists X S (col i X).
rewrite /corr; have {1}-> : col i X = residual X S (col i X) + X *m b by rewrite -E addrC subrK.
rewrite dotDl [dot (X *m b) w]dotC dot_orthogonal ?addr0 // => j.
by case: (boolP (j \in S)) => jS; [left; exact: w0 | right; exact: b0].
Qed.

Section Ties.
Hypothesis L_gt0 : 0 < L.

(* X delta = LZv where delta_i = L s_i v_i off S and X delta is orthogonal to X_S *)
Lemma signed_residuals_mul delta v : in_cone T v ->
  (forall i, i \notin S -> delta i 0 = L * (Num.sg (c i) * v i 0)) ->
  (forall i, i \in S -> corr X (X *m delta) i = 0) -> X *m delta = L *: (Z *m v).
Proof.
move=> [v0 vT] E orth; rewrite -(residual_id orth) residual_mul mul_sum_col scaler_sumr.
apply: eq_bigr => i _; have [iS|iS] := boolP (i \in S).
  have iT : i \notin T by apply: contraL iS => /tiedP[].
  rewrite vT // scale0r scaler0.
  have {1}-> : col i X = X *m delta_mx i 0 by exact: col_mul.
  by rewrite residual_span ?scaler0 // => j jS; rewrite mxE; case: eqVneq jS => // ->; rewrite iS.
rewrite E //; have [iT|iT] := boolP (i \in T); last by rewrite vT // !mulr0 !scale0r scaler0.
apply/colP=> k; rewrite !mxE iT; move: (Num.sg _) (residual _ _ _ _ _) (v i 0) L => s e f l.
by to_ring R; ring.
Qed.

Lemma corr_signed_residuals w i : i \in T -> (forall j, j \in S -> corr X w j = 0) ->
  corr Z w i = Num.sg (c i) * corr X w i.
Proof.
move=> iT w0; rewrite (corr_residual i w0) -dotZl; congr (dot _ w).
by apply/colP=> k; rewrite !mxE iT.
Qed.

(* The optimality conditions of v and the definition of a direction are the same. *)
Lemma least_squares_direction delta v : in_cone T v ->
  (forall i, i \notin S -> delta i 0 = L * (Num.sg (c i) * v i 0)) ->
  (forall i, i \in S -> corr X (X *m delta) i = 0) ->
  nonnegative_least_squares X y S v <-> direction X y S delta.
Proof.
move=> vT E orth; have EZ := signed_residuals_mul vT E orth.
pose G := cone_objective Z (L^-1 *: r) 0.
have GE v' : 2%:R * G v' = sq (Z *m v' - L^-1 *: r).
  rewrite /G /cone_objective dot0l addr0 mulrA mulfV ?mul1r ?pnatr_eq0 //.
  by rewrite -opprB /sq dotNl dotNr opprK.
have two : (0 : R) < 2%:R by rewrite ltr0n.
have -> : nonnegative_least_squares X y S v <->
    forall i, i \in T -> corr Z (L^-1 *: r - Z *m v) i <= 0 /\
      (0 < v i 0 -> corr Z (L^-1 *: r - Z *m v) i = 0).
  split=> [[_ min] i iT|H].
    have [H _] := cone_optimality Z (L^-1 *: r) 0 vT; have := H _ i iT; rewrite mxE; apply=> v' v'T.
    by rewrite -(ler_pmul2l two) !GE min.
  split=> // v' v'T; rewrite -!GE ler_pmul2l //.
  have [_ H'] := cone_optimality Z (L^-1 *: r) 0 vT; apply: H' v' v'T => i iT.
  by rewrite !mxE; exact: H.
have L0 : L != 0 by rewrite gt_eqF.
have w0 j : j \in S -> corr X (L^-1 *: (r - X *m delta)) j = 0.
  by move=> jS; rewrite corrZ corrB orth // [corr X r j]correlation_on // subrr mulr0.
have corr_gap i : i \in T -> corr Z (L^-1 *: r - Z *m v) i =
    L^-1 * (Num.sg (c i) * (c i - corr X (X *m delta) i)).
  move=> iT; have -> : L^-1 *: r - Z *m v = L^-1 *: (r - X *m delta).
    by rewrite scalerBr EZ scalerA mulVf // scale1r.
  by rewrite (corr_signed_residuals iT w0) corrZ corrB mulrCA.
have sg_pos i : i \in T -> 0 < v i 0 <-> delta i 0 != 0.
  move=> iT; have [iS _] := tiedP _ _ _ _ iT.
  have [v_ge0 _] := vT; rewrite E // lt_neqAle v_ge0 andbT eq_sym.
  by rewrite !mulf_eq0 (negbTE L0) sgr_eq0 (negbTE (tied_neq0 L_gt0 iT)).
split=> [H|[_ dir] i iT]; last first.
  have [iS cL] := tiedP _ _ _ _ iT; have [nonzero /(_ iT) at_T] := dir i iS.
  rewrite (corr_gap i iT) pmulr_rle0 ?invr_gt0 //; split; last first.
    by move/(sg_pos i iT)/nonzero => [_ _ ->]; rewrite subrr !mulr0.
  rewrite mulrBr mulrr_sg cL subr_le0 -(ler_pmul2l L_gt0) mulrA [L * Num.sg _]mulrC.
  by rewrite -(tied_sign iT) -expr2.
split=> // i iS; split=> [di|iT]; last first.
  have [+ _] := H i iT; rewrite (corr_gap i iT) pmulr_rle0 ?invr_gt0 //.
  have [_ cL] := tiedP _ _ _ _ iT.
  rewrite mulrBr mulrr_sg cL subr_le0 -(ler_pmul2l L_gt0) mulrA [L * Num.sg _]mulrC.
  by rewrite -(tied_sign iT) -expr2.
have iT : i \in T.
  by apply: contraNT di => iT; rewrite E //; have [_ ->] := vT; rewrite ?mulr0.
split=> //.
  have [v_ge0 _] := vT; have vi : 0 < v i 0 by apply/sg_pos.
  rewrite E // mulrCA pmulr_rgt0 // mulrA pmulr_lgt0 //.
  by rewrite mulrC mulrr_sg normr_gt0 tied_neq0.
have [_ at_0] := H i iT; have := at_0 ((sg_pos i iT).2 di); rewrite (corr_gap i iT) => /eqP.
rewrite !mulf_eq0 invr_eq0 (negbTE L0) sgr_eq0 (negbTE (tied_neq0 L_gt0 iT)) /= subr_eq0.
by move/eqP.
Qed.

Lemma active_tied i : active X y S i -> i \in T.
Proof. by case=> v [[_ vT] _] v0; apply: contraTT v0 => /vT->; rewrite ltxx. Qed.

Section Window.
Variable M : 'I_d -> R.
Hypothesis M_bounds : bounds X y S M.
Variable lam : R.
Hypotheses (lam_start : window_start X y S M < lam) (lam_L : lam < L).

Theorem active_nonzero i : i \notin S ->
  (exists2 b, minimiser X y S lam b & b i 0 != 0) <-> active X y S i.
Proof.
move=> iS; have [b0 b00 E0] := fit_exists X y S; have t0 := tau_gt0 L_gt0 lam_L.
have L0 : L != 0 by rewrite gt_eqF.
split=> [[b min bi]|[v nnls vi]].
  have iT := nonzeros_are_tied M_bounds L_gt0 lam_start lam_L min iS bi.
  have := minimiser_direction M_bounds L_gt0 lam_start lam_L min b00 E0.
  set delta := _ *: _ => dir; have [orth off] := dir.
  pose v : 'cV[R]_d := \col_i (if i \in T then L^-1 * (Num.sg (c i) * delta i 0) else 0).
  have vE j : j \notin S -> delta j 0 = L * (Num.sg (c j) * v j 0).
    move=> jS; rewrite [v j 0]mxE; case: ifPn => jT.
      by rewrite mulrCA mulVKf // mulrA tied_sg2 // mul1r.
    rewrite !mulr0; apply/eqP; apply: contraNT jT => dj.
    by have [/(_ dj)[]] := off j jS.
  have v_ge0 j : 0 <= v j 0.
    rewrite mxE; case: ifPn => // jT; have [jS _] := tiedP _ _ _ _ jT.
    apply: mulr_ge0; first by rewrite invr_ge0 ltW.
    have [->|dj] := eqVneq (delta j 0) 0; first by rewrite mulr0.
    have [/(_ dj)[_ pos _] _] := off j jS.
    by rewrite -sgr_ge0 sgrM sgr_id -sgrM sgr_ge0 ltW.
  have vT : in_cone T v by split=> // j jT; rewrite mxE (negbTE jT).
  exists v; first exact/(least_squares_direction vT vE orth).
  rewrite lt_neqAle v_ge0 andbT eq_sym mxE iT !mulf_eq0 invr_eq0 (negbTE L0) sgr_eq0.
  rewrite (negbTE (tied_neq0 L_gt0 iT)) /= /delta !mxE b00 // subr0 mulf_eq0 invr_eq0.
  by rewrite gt_eqF // (negbTE bi).
have [vT _] := nnls; pose g : 'cV[R]_d := \col_j (L * (Num.sg (c j) * v j 0)).
have [orth [h h0 Eh]] := residual_exists X S (X *m g).
pose delta := g - h.
have Ed : X *m delta = residual X S (X *m g) by rewrite mulmxBr -Eh opprB addrC subrK.
have dE j : j \notin S -> delta j 0 = L * (Num.sg (c j) * v j 0).
  by move=> jS; rewrite !mxE h0 // subr0.
have dorth j : j \in S -> corr X (X *m delta) j = 0 by rewrite Ed; exact: orth.
have dir := (least_squares_direction vT dE dorth).1 nnls.
exists (b0 + (1 - lam / L) *: delta).
  exact: (direction_minimiser M_bounds L_gt0 lam_start lam_L b00 E0 dir).
have iT : i \in T by apply: contraTT vi; have [_ vz] := vT => /vz->; rewrite ltxx.
rewrite mxE b00 // add0r mxE dE // !mulf_eq0 (negbTE L0) sgr_eq0 gt_eqF //.
by rewrite (negbTE (tied_neq0 L_gt0 iT)) gt_eqF.
Qed.
End Window.

Theorem active_exists : exists i, active X y S i.
Proof.
have Mb := mean_bounds X y S; have lt := window_start_lt Mb L_gt0.
have [s1 s2] := midf_lt lt; set lam := _ / _ in s1 s2.
have lam0 := lam_gt0 s1; have [b min] := minimiser_exists X y S (ltW lam0).
have [i iS bi] := nonzero_below (ltW lam0) s2 min.
by exists i; apply/(active_nonzero Mb s1 s2 iS); exists b.
Qed.
End Ties.
End Active.
