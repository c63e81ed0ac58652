(* The dual: the residual of a minimiser is a projection; and Lemma 3.4 as printed is false.

   For v in the dual polytope <y - u, v - u> = <Xb, v - u> <= 0, so that |y - v|² >= |y - u|² + |v - u|². *)
From mathcomp Require Import all_ssreflect all_algebra.
From sparselin Require Import ordered_field inner_product lasso residual existence window active.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.POrderTheory Order.TotalTheory.
Local Open Scope ring_scope.

Section Projection.
Variable R : realFieldType.
Variables (n d : nat) (X : 'M[R]_(n, d)) (y : 'cV[R]_n) (S : {set 'I_d}).
Implicit Types (b : 'cV[R]_d) (lam : R).
Notation r := (residual X S y).

Definition is_projection (C : 'cV[R]_n -> Prop) (x u : 'cV[R]_n) :=
  C u /\ forall v, C v -> sq (x - u) <= sq (x - v).

Lemma projection_of x u (C : 'cV[R]_n -> Prop) : C u -> (forall v, C v -> dot (x - u) (v - u) <= 0) ->
  is_projection C x u /\ forall u', is_projection C x u' -> u' = u.
Proof.
move=> Cu H; have far v : C v -> sq (x - u) + sq (v - u) <= sq (x - v).
  move=> Cv; have -> : x - v = (x - u) - (v - u) by rewrite opprB addrA subrK.
  rewrite [W in _ <= W]sqB ler_add2r ler_addl oppr_ge0.
  by rewrite pmulr_rle0 ?ltr0n // H.
split=> [|u' [Cu' H']]; first by split=> // v /far; apply: le_trans; rewrite ler_addl sq_ge0.
have := le_trans (far u' Cu') (H' u Cu); rewrite ger_addl => le0.
have : sq (u' - u) == 0 by rewrite eq_le le0 sq_ge0.
by rewrite sq_eq0 subr_eq0 => /eqP.
Qed.

Lemma minimiser_in_polytope lam b : 0 <= lam -> minimiser X y S lam b ->
  dual_polytope X S lam (y - X *m b).
Proof. by move=> lam0 /(optimality_necessary lam0)[on off]; split=> // i /off[]. Qed.

(* Equations (9) and (11): u is the projection of y, and of r. *)
Theorem residual_is_projection lam b : 0 <= lam -> minimiser X y S lam b ->
  (forall u, is_projection (dual_polytope X S lam) y u <-> u = y - X *m b) /\
  (forall u, is_projection (dual_polytope X S lam) r u <-> u = y - X *m b).
Proof.
move=> lam0 min; have Cu := minimiser_in_polytope lam0 min.
have [b' b'0 E] := fit_exists X y S.
have zero : zero_off S (0 : 'cV[R]_d) by move=> i _; rewrite mxE.
have Hy v : dual_polytope X S lam v -> dot (y - (y - X *m b)) (v - (y - X *m b)) <= 0.
  move=> Cv; have := dual_inequality lam0 min zero Cv.
  by rewrite subr0; have -> : y - (y - X *m b) = X *m b by rewrite opprB addrC subrK.
have Hr v : dual_polytope X S lam v -> dot (r - (y - X *m b)) (v - (y - X *m b)) <= 0.
  move=> Cv; have := dual_inequality lam0 min b'0 Cv.
  by have -> : X *m (b - b') = r - (y - X *m b) by rewrite mulmxBr -E opprB [RHS]addrC addrA subrK.
have [py uy] := projection_of Cu Hy; have [pr ur] := projection_of Cu Hr.
by split=> u; split=> [|->//]; [exact: uy | exact: ur].
Qed.

(* What holds of Lemma 3.4: in the window r - u is in the span of the P_S^⊥X_i, i in T. *)
Theorem residual_difference (M : 'I_d -> R) lam b : bounds X y S M -> 0 < lambda_star X S y ->
  window_start X y S M < lam -> lam < lambda_star X S y -> minimiser X y S lam b ->
  exists2 a : 'I_d -> R, (forall i, i \notin tied X S y -> a i = 0) &
    r - (y - X *m b) = \sum_i a i *: residual X S (col i X).
Proof.
move=> Mb L0 start lt min; have [b' b'0 E] := fit_exists X y S.
have lam0 := lam_gt0 start; have [on _] := optimality_necessary (ltW lam0) min.
have D : r - (y - X *m b) = X *m (b - b') by rewrite mulmxBr -E opprB [LHS]addrC addrA subrK.
exists (fun i => if i \in tied X S y then b i 0 else 0) => [i /negbTE->//|].
rewrite D -(@residual_id _ _ _ X S (X *m (b - b'))); last first.
  by move=> i iS; rewrite -D corrB on // subr0 [LHS]correlation_on.
rewrite residual_mul; apply: eq_bigr => i _.
have [iS|iS] := boolP (i \in S).
  have -> : col i X = X *m delta_mx i 0 by exact: col_mul.
  rewrite residual_span ?scaler0 // => j jS; rewrite mxE.
  by case: eqVneq jS => // ->; rewrite iS.
rewrite !mxE b'0 // subr0; case: ifPn => // iT.
have [->//|bi] := eqVneq (b i 0) 0.
by have := nonzeros_are_tied Mb L0 start lt min iS bi; rewrite (negbTE iT).
Qed.

(* Lemma 3.4 as printed: for all lam just below lambda*, r - p is in the span of X_T, p the projection of r. *)
Definition lemma_3_4_as_printed := exists2 lam0, lam0 < lambda_star X S y &
  forall lam p, lam0 < lam -> lam < lambda_star X S y -> is_projection (dual_polytope X S lam) r p ->
    exists2 a : 'cV[R]_d, (forall i, i \notin tied X S y -> a i 0 = 0) & r - p = X *m a.
End Projection.

(* X_0 = (1, 0), X_1 = y = (3/5, 4/5), S = {0}: r = (0, 4/5), T = {1}. Every p orthogonal to X_0 has p_0 = 0, and
   if r - p is a multiple of X_1, then p = r, which is not in the polytope for lam < lambda*. *)
Section Counterexample.
Variable R : realFieldType.
Add Field R_field : (ordered_field_field R).
Definition counterexample_X : 'M[R]_2 := \matrix_(k, j)
  (if val j == 0%N then (val k == 0%N)%:R else if val k == 0%N then 3%:R / 5%:R else 4%:R / 5%:R).
Definition counterexample_y : 'cV[R]_2 := col 1 counterexample_X.
Definition counterexample_S : {set 'I_2} := [set 0].
Notation X := counterexample_X.
Notation y := counterexample_y.
Notation S := counterexample_S.

Lemma two_entries (P : 'I_2 -> Prop) : P 0 -> P 1 -> forall i, P i.
Proof.
move=> P0 P1 i; case: (unliftP 0 i) => [j ->|->//].
by have -> : lift 0 j = 1 by rewrite (ord1 j); apply/val_inj.
Qed.

Lemma sum_two (f : 'I_2 -> R) : \sum_k f k = f 0 + f 1.
Proof.
rewrite !big_ord_recl big_ord0 addr0; congr (_ + f _); exact/val_inj.
Qed.

Lemma columns_are_unit i : sq (col i X) = 1.
Proof.
have five : (5%:R : R) != 0 by rewrite pnatr_eq0.
move: i; apply: two_entries; rewrite /sq /dot sum_two !mxE /=; first by rewrite mulr0 addr0 mulr1.
rewrite !mulf_div -!natrM -mulrDl -natrD mulfV //.
by rewrite pnatr_eq0.
Qed.

Lemma first_correlation (w : 'cV[R]_2) : corr X w 0 = w 0 0.
Proof. by rewrite /corr /dot sum_two !mxE /= mul1r mul0r addr0. Qed.

Lemma counterexample_residual : residual X S y = \col_k (if val k == 0%N then 0 else 4%:R / 5%:R).
Proof.
apply: residual_eq; split=> [i|]; first by rewrite inE => /eqP->; rewrite first_correlation mxE.
exists (\col_k (if val k == 0%N then 3%:R / 5%:R else 0)) => [i|].
  by rewrite inE mxE -val_eqE /= => /negbTE->.
apply/colP; apply: two_entries; rewrite !mxE sum_two !mxE /=.
  by rewrite subr0 mul1r mulr0 addr0.
by rewrite subrr mul0r mulr0 addr0.
Qed.

Theorem lemma_3_4_fails : ~ lemma_3_4_as_printed X y S.
Proof.
case=> lam0 lt0 H; set L := lambda_star X S y in lt0 H.
have c1 : correlation X S y 1 != 0.
  rewrite /correlation counterexample_residual /corr /dot sum_two !mxE /=.
  by rewrite mulr0 add0r !mulf_neq0 ?invr_eq0 ?pnatr_eq0.
have iS : (1 : 'I_2) \notin S by rewrite inE.
have L0 : 0 < L by apply: lt_le_trans (le_lambda_star X y iS); rewrite normr_gt0.
have T1 : (1 : 'I_2) \in tied X S y.
  have only i : i \notin S -> i = 1 by move: i; apply: two_entries; rewrite // inE eqxx.
  have [i iT] := tied_exists L0; have [iS' _] := tiedP _ _ _ _ iT.
  by rewrite -(only i iS').
have [s1 s2] : Num.max lam0 0 < (Num.max lam0 0 + L) / 2%:R /\ (Num.max lam0 0 + L) / 2%:R < L.
  by have /midf_lt[] : Num.max lam0 0 < L by rewrite lt_maxl lt0.
move: (_ / _) s1 s2 => lam; rewrite lt_maxl => /andP[gt0 lam_gt0] lt_L.
have [b min] := minimiser_exists X y S (ltW lam_gt0).
have [_ /(_ (y - X *m b))[_ /(_ erefl) proj]] := residual_is_projection (ltW lam_gt0) min.
have [a a0 E] := H lam _ gt0 lt_L proj.
have [Cp _] := proj; move: E Cp; set p := y - X *m b => E [onS offS].
have p0 : p 0 0 = 0 by rewrite -first_correlation onS // inE.
have aT : a 0 0 = 0 by apply: a0; rewrite inE inE eqxx.
have a1 : a 1 0 = 0.
  have := congr1 (fun v : 'cV_2 => v 0 0) E.
  rewrite counterexample_residual [LHS]mxE [in LHS]mxE [(- p) 0 0]mxE p0 /= subr0 mxE sum_two aT mulr0 add0r mxE /=.
  by move/esym/eqP; rewrite !mulf_eq0 invr_eq0 !pnatr_eq0 /= => /eqP.
have pr : p = residual X S y.
  apply/esym/eqP; rewrite -subr_eq0 E; apply/eqP; have -> : a = 0 by apply/colP; apply: two_entries; rewrite mxE.
  by rewrite mulmx0.
have := offS 1 iS; rewrite pr leNgt => /negP; apply.
by case/tiedP: T1 => _; rewrite /correlation => ->.
Qed.
End Counterexample.
