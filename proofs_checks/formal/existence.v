(* Minimisers exist, over any ordered field: of G(x) = |y - Vx|²/2 + <q, x> over x >= 0, q >= 0, and so of F.

   By induction on the set A of coordinates that may be positive. Of the faces x_i = 0, i in A, take the best
   minimiser. If there is a stationary point of G on R^A, it is the minimiser if it is >= 0; if not, the segment
   to it from a point inside meets a face before its end, and G falls along it. If there is none, there is a
   direction p with Vp = 0 and <q, p> < 0, along which G falls; as q >= 0, p has a negative entry, and the ray
   meets a face. *)
From mathcomp Require Import all_ssreflect all_algebra.
From sparselin Require Import ordered_field inner_product lasso.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.POrderTheory Order.TotalTheory.
Local Open Scope ring_scope.

Section Cone.
Variable R : realFieldType.
Add Field R_field : (ordered_field_field R).
Variables (n m : nat) (V : 'M[R]_(n, m)) (y : 'cV[R]_n) (q : 'cV[R]_m).
Implicit Types (x p z : 'cV[R]_m) (A : {set 'I_m}).

Definition cone_objective x : R := 2%:R^-1 * sq (y - V *m x) + dot q x.
Notation G := cone_objective.

Definition in_cone A x := (forall i, 0 <= x i 0) /\ (forall i, i \notin A -> x i 0 = 0).

Definition mask A : 'M[R]_m := diag_mx (\row_i (i \in A)%:R).

Lemma maskE A x i : (mask A *m x) i 0 = (i \in A)%:R * x i 0.
Proof. by rewrite mul_diag_mx !mxE. Qed.

Lemma mask_tr A : (mask A)^T = mask A.
Proof. exact: tr_diag_mx. Qed.

Lemma dot_mx k (u v : 'cV[R]_k) : dot u v = (u^T *m v) 0 0.
Proof. by rewrite mxE; apply: eq_bigr => i _; rewrite mxE. Qed.

(* A stationary point on R^A, or a direction in which G has no bound. *)
Lemma stationary A :
  (exists2 x : 'cV[R]_m, (forall i, i \notin A -> x i 0 = 0) & forall i, i \in A -> corr V (y - V *m x) i = q i 0) \/
  (exists2 p : 'cV[R]_m, (forall i, i \notin A -> p i 0 = 0) & V *m p = 0 /\ dot q p < 0).
Proof.
pose D := mask A; pose N := D *m (V^T *m V) *m D; pose g := D *m (V^T *m y - q).
have N_tr : N^T = N by rewrite /N !trmx_mul trmxK mask_tr !mulmxA.
case: (boolP (g^T <= N)%MS) => [/submxP[E gE]|].
  left; exists (D *m E^T) => [i iA|i iA]; first by rewrite maskE (negbTE iA) mul0r.
  have : g = N *m E^T by rewrite -[LHS]trmxK gE trmx_mul N_tr.
  move/(congr1 (fun v : 'cV_m => v i 0)); rewrite /g /N -!mulmxA !maskE iA !mul1r => e.
  have eB : (V^T *m y - q) i 0 = (V^T *m y) i 0 - q i 0 by rewrite !mxE.
  by rewrite corrB !corrE -e eB opprB addrC subrK.
rewrite submxE => /eqP/eqP; case/matrix0Pn => i [j]; rewrite (ord1 i) => gp.
pose p0 := col j (cokermx N).
have Np : N *m p0 = 0 by rewrite /p0 colE mulmxA mulmx_coker mul0mx.
have Vp : V *m (D *m p0) = 0.
  apply/eqP; rewrite -sq_eq0 /sq dot_mx !trmx_mul mask_tr.
  have -> : p0^T *m D *m V^T *m (V *m (D *m p0)) = p0^T *m (N *m p0) by rewrite /N !mulmxA.
  by rewrite Np mulmx0 mxE.
have qp : dot q (D *m p0) != 0.
  apply: contraNneq gp => qp.
  have -> : (g^T *m cokermx N) 0 j = (g^T *m p0) 0 0.
    by rewrite /p0 !mxE; apply: eq_bigr => k _; rewrite !mxE.
  rewrite /g trmx_mul mask_tr -mulmxA -dot_mx dotBl qp subr0.
  by rewrite dot_mx trmx_mul trmxK -mulmxA Vp mulmx0 mxE.
right; exists (- Num.sg (dot q (D *m p0)) *: (D *m p0)).
  by move=> k kA; rewrite mxE maskE (negbTE kA) mul0r mulr0.
rewrite -scalemxAr Vp scaler0; split=> //.
by rewrite dotZr mulNr mulrr_sg oppr_lt0 normr_gt0.
Qed.

(* From x > 0 on A, along p with a negative entry, to the face that is met first. *)
Lemma face_met A x p : (forall i, i \in A -> 0 < x i 0) -> (forall i, i \notin A -> x i 0 = 0) ->
  (forall i, i \notin A -> p i 0 = 0) -> (exists i, p i 0 < 0) ->
  exists t, [/\ 0 < t, in_cone A (x + t *: p) & exists2 i, i \in A & (x + t *: p) i 0 = 0].
Proof.
move=> x0 xA pA [i0 pi0].
have inA i : p i 0 < 0 -> i \in A by apply: contraTT => /pA ->; rewrite ltxx.
pose t i := x i 0 / - p i 0.
case: (Order.TotalTheory.arg_minP (P := fun i => p i 0 < 0) t pi0) => i pi min.
exists (t i); split.
- by rewrite divr_gt0 ?oppr_gt0 ?x0 ?inA.
- split=> [j|j jA]; rewrite !mxE; last by rewrite xA // pA // mulr0 addr0.
  have [pj|pj] := ltP (p j 0) 0; last first.
    apply: addr_ge0; last first.
      by apply: mulr_ge0 pj; rewrite divr_ge0 ?oppr_ge0 ?(ltW pi) // ltW ?x0 ?inA.
    by case: (boolP (j \in A)) => jA; [rewrite ltW ?x0 | rewrite xA].
  by rewrite -[_ * _]opprK subr_ge0 -mulrN -ler_pdivl_mulr ?oppr_gt0 // min.
exists i; rewrite ?inA // !mxE /t.
by rewrite invrN mulrN mulNr divfK ?lt_eqF // subrr.
Qed.

Lemma cone_objective_along x p t :
  G (x + t *: p) = G x + t * (dot q p - dot (y - V *m x) (V *m p)) + 2%:R^-1 * t ^+ 2 * sq (V *m p).
Proof.
rewrite /G mulmxDr -scalemxAr opprD addrA sqB sqZ !dotZr dotDr dotZr.
set a := sq _; set b := dot _ (V *m p); set e := sq _.
have -> : 2%:R^-1 * (a - 2%:R * (t * b) + t ^+ 2 * e) = 2%:R^-1 * a - t * b + 2%:R^-1 * t ^+ 2 * e.
  by rewrite mulrDr mulrBr !mulrA mulVf ?mul1r ?pnatr_eq0.
by move: (2%:R^-1) (dot q x) (dot q p) => h f k; to_ring R; ring.
Qed.

(* G at x is least on the cone iff <V_i, y - Vx> <= q_i on A, with equality where x_i > 0. *)
Lemma cone_optimality A x : in_cone A x ->
  (forall x', in_cone A x' -> G x <= G x') <->
  (forall i, i \in A -> corr V (y - V *m x) i <= q i 0 /\
    (0 < x i 0 -> corr V (y - V *m x) i = q i 0)).
Proof.
move=> [x0 xA]; split=> [min i iA|opt x' [x'0 x'A]]; last first.
  have -> : x' = x + 1 *: (x' - x) by rewrite scale1r addrC subrK.
  rewrite cone_objective_along -addrA ler_addl mul1r expr1n mulr1 addr_ge0 //; last first.
    by rewrite mulr_ge0 ?sq_ge0 // invr_ge0 ler0n.
  rewrite dot_mul /dot -sumrB; apply: sumr_ge0 => i _; rewrite mulrC -mulrBr.
  case: (boolP (i \in A)) => iA; last by rewrite !mxE x'A // xA // subrr mul0r.
  have [le eq] := opt i iA; rewrite !mxE mulrBl subr_ge0.
  have := x0 i; rewrite le_eqVlt => /orP[/eqP<-|xi]; last by rewrite eq // subrr !mulr0.
  by rewrite mul0r mulr_ge0 // subr_ge0.
have a0 : 0 <= 2%:R^-1 * sq (col i V) by rewrite mulr_ge0 ?sq_ge0 // invr_ge0 ler0n.
have along t : 0 <= x i 0 + t ->
    0 <= 2%:R^-1 * sq (col i V) * t ^+ 2 - t * (corr V (y - V *m x) i - q i 0).
  move=> xt; have cone : in_cone A (x + t *: delta_mx i 0).
    split=> j; rewrite !mxE; first by case: eqVneq => [->|_]; rewrite ?mulr1 // mulr0 addr0.
    by move=> jA; rewrite xA // add0r; case: eqVneq jA => [->|_]; rewrite ?iA ?mulr0.
  have := min _ cone; rewrite cone_objective_along -addrA ler_addl.
  have -> : dot q (delta_mx i 0) = q i 0.
    rewrite /dot (bigD1 i) //= big1 => [|j ji]; last by rewrite mxE (negbTE ji) mulr0.
    by rewrite mxE !eqxx mulr1 addr0.
  rewrite -colE; congr (0 <= _); rewrite dotC -/(corr V _ i).
  by move: (2%:R^-1) (sq _) (q i 0) (corr _ _ _) => h s e f; to_ring R; ring.
split; first rewrite -subr_le0.
  by apply: (first_order a0 ltr01) => t t0 _; apply: along; rewrite addr_ge0 // ltW.
move=> xi; apply/eqP; rewrite -subr_eq0 eq_le; apply/andP; split.
  by apply: (first_order a0 ltr01) => t t0 _; apply: along; rewrite addr_ge0 // ltW.
rewrite -oppr_le0; apply: (first_order a0 xi) => t t0 tx.
by have := along (- t); rewrite subr_ge0 tx sqrrN mulNr mulrN; apply.
Qed.

(* The best of finitely many sets that have minimisers *)
Lemma best (I : eqType) (Q : I -> 'cV[R]_m -> Prop) (s : seq I) : s != [::] ->
  (forall i, i \in s -> exists2 x, Q i x & forall x', Q i x' -> G x <= G x') ->
  exists2 x, exists2 i, i \in s & Q i x & forall j x', j \in s -> Q j x' -> G x <= G x'.
Proof.
elim: s => // i s IH _ H.
have [|x Qx min] := H i; first by rewrite mem_head.
have [s0|s0] := eqVneq s [::].
  exists x => [|j x']; first by exists i; rewrite ?mem_head.
  by rewrite s0 inE => /eqP->; exact: min.
have [|x' [i' i's Qx'] min'] := IH s0.
  by move=> j js; apply: H; rewrite inE js orbT.
have [le|lt] := leP (G x) (G x').
  exists x => [|j x'']; first by exists i; rewrite ?mem_head.
  by rewrite inE => /orP[/eqP->|js Q'']; [exact: min | apply: le_trans le (min' _ _ js Q'')].
exists x' => [|j x'']; first by exists i'; rewrite // inE i's orbT.
rewrite inE => /orP[/eqP-> Q''|js Q'']; last exact: min' js Q''.
exact: le_trans (ltW lt) (min _ Q'').
Qed.

Hypothesis q_ge0 : forall i, 0 <= q i 0.

Theorem cone_minimiser A : exists2 x, in_cone A x & forall x', in_cone A x' -> G x <= G x'.
Proof.
have [k le_k] := ubnP #|A|; elim: k A le_k => // k IH A; rewrite ltnS => le_k.
have [->|A0] := eqVneq A set0.
  exists 0 => [|x' [_ x0]]; first by split=> i *; rewrite mxE.
  suff -> : x' = 0 by [].
  by apply/colP=> i; rewrite mxE x0 // inE.
have [||x [i iA face] faces] := @best [eqType of 'I_m] (fun i => in_cone (A :\ i)) (enum A).
- by rewrite -size_eq0 -cardE cards_eq0.
- move=> i; rewrite mem_enum => iA; apply: IH; apply: leq_trans le_k.
  by rewrite (cardsD1 i A) iA.
rewrite mem_enum in iA.
have xA : in_cone A x by case: face => x0 off; split=> // j jA; rewrite off // !inE (negbTE jA) andbF.
(* x is best if every point inside is no better than some point of a face *)
have from_faces : (forall x', (forall i, i \in A -> 0 < x' i 0) -> (forall i, i \notin A -> x' i 0 = 0) ->
    exists z, [/\ in_cone A z, exists2 i, i \in A & z i 0 = 0 & G z <= G x']) ->
    exists2 x, in_cone A x & forall x', in_cone A x' -> G x <= G x'.
  move=> inside; exists x => // x' [x'0 x'A].
  have on_face z : in_cone A z -> (exists2 i, i \in A & z i 0 = 0) -> G x <= G z.
    move=> [z0 zA] [j jA zj]; apply: (faces j); first by rewrite mem_enum.
    by split=> // l; rewrite !inE negb_and negbK => /orP[/eqP->|/zA].
  case: (pickP (fun i => (i \in A) && (x' i 0 == 0))) => [j /andP[jA /eqP xj]|none].
    by apply: on_face; [split | exists j].
  have [|z [zA zface le_z]] := inside x' _ x'A; last exact: le_trans (on_face z zA zface) le_z.
  move=> j jA; rewrite lt_neqAle x'0 andbT eq_sym.
  by have := none j; rewrite jA /= => ->.
case: (stationary A) => [[x0 x0A grad]|[p pA [Vp qp]]]; last first.
  apply: from_faces => x' x'0 x'A.
  have [|t [t0 zA zface]] := face_met x'0 x'A pA.
    case: (pickP (fun i => p i 0 < 0)) => [j pj|none]; first by exists j.
    suff : 0 <= dot q p by rewrite leNgt qp.
    by apply: sumr_ge0 => j _; rewrite mulr_ge0 // leNgt none.
  exists (x' + t *: p); split=> //.
  rewrite cone_objective_along Vp dot0r /sq dot0l subr0 mulr0 addr0 ger_addl.
  by rewrite mulr_ge0_le0 ?ltW.
have least z : (forall i, i \notin A -> z i 0 = 0) -> G x0 <= G z.
  move=> zA; have -> : z = x0 + 1 *: (z - x0) by rewrite scale1r addrC subrK.
  rewrite cone_objective_along -addrA ler_addl mul1r expr1n mulr1.
  suff -> : dot q (z - x0) = dot (y - V *m x0) (V *m (z - x0)).
    by rewrite subrr add0r mulr_ge0 ?sq_ge0 // invr_ge0 ler0n.
  rewrite dot_mul; apply: eq_bigr => j _; rewrite mulrC.
  case: (boolP (j \in A)) => jA; first by rewrite grad.
  by rewrite !mxE zA // x0A // subrr !mul0r.
case: (pickP (fun i => x0 i 0 < 0)) => [j xj|none]; last first.
  exists x0 => [|z [_ zA]]; last exact: least.
  by split=> // i'; rewrite leNgt none.
apply: from_faces => x' x'0 x'A.
have jA : j \in A by apply: contraTT xj => /x0A ->; rewrite ltxx.
have pA l : l \notin A -> (x0 - x') l 0 = 0 by move=> lA; rewrite !mxE x'A // x0A // subrr.
have [|t [t0 zA zface]] := face_met x'0 x'A pA.
  by exists j; rewrite !mxE subr_lt0 (lt_trans xj) ?x'0.
exists (x' + t *: (x0 - x')); split=> //.
have t1 : t <= 1.
  rewrite leNgt; apply/negP=> t1; have [z0 _] := zA; have := z0 j; rewrite !mxE leNgt => /negP; apply.
  have -> : x' j 0 + t * (x0 j 0 - x' j 0) = x0 j 0 + (t - 1) * (x0 j 0 - x' j 0).
    by move: (x' j 0) (x0 j 0) => a b; to_ring R; ring.
  by rewrite addrC ltr_naddl // pmulr_rle0 ?subr_gt0 // subr_le0 ltW // (lt_trans xj) ?x'0.
(* G(x' + tp) <= (1 - t)G(x') + tG(x0) *)
pose p := x0 - x'; rewrite -/p.
have : G (x' + 1 *: p) <= G x' by rewrite scale1r addrC subrK; exact: least.
rewrite !cone_objective_along; set g := G x'; rewrite -!(addrA g) !ger_addl.
set a := dot q p - _; set h := 2%:R^-1 => le0.
have h0 : 0 <= h * sq (V *m p) by rewrite mulr_ge0 ?sq_ge0 // invr_ge0 ler0n.
have -> : t * a + h * t ^+ 2 * sq (V *m p) = t * (a + t * (h * sq (V *m p))).
  by move: (sq _) => s; to_ring R; ring.
rewrite pmulr_rle0 //; move: le0; rewrite mul1r expr1n mulr1; apply: le_trans.
by rewrite ler_add2l ler_pimull.
Qed.
End Cone.

(* F(b) at b = p - m is G for V = [X, -X] where p, m are the positive and negative parts, and at most G elsewhere. *)
Section LassoMinimiser.
Variable R : realFieldType.
Variables (n d : nat) (X : 'M[R]_(n, d)) (y : 'cV[R]_n) (S : {set 'I_d}) (lam : R).
Hypothesis lam_ge0 : 0 <= lam.

Let level : 'cV[R]_d := \col_i (lam * (i \notin S)%:R).
Let twice : 'cV[R]_(d + d) := col_mx level level.
Notation G := (cone_objective (row_mx X (- X)) y twice).

Lemma cone_objective_split (p m : 'cV[R]_d) :
  G (col_mx p m) = 2%:R^-1 * sq (y - X *m (p - m)) + lam * \sum_(i | i \notin S) (p i 0 + m i 0).
Proof.
rewrite /cone_objective mul_row_col mulNmx -mulmxBr; congr (_ + _).
rewrite /dot big_split_ord /= -big_split mulr_sumr [RHS]big_mkcond /=; apply: eq_bigr => i _.
rewrite !col_mxEu !col_mxEd !mxE; case: (i \notin S); first by rewrite mulr1 mulrDr.
by rewrite !mulr0 !mul0r addr0.
Qed.

Theorem minimiser_exists : exists b, minimiser X y S lam b.
Proof.
have twice_ge0 i : 0 <= twice i 0.
  by rewrite /twice mxE; case: (fintype.split i) => j; rewrite mxE mulr_ge0 ?ler0n.
have [x [x0 _] min] := cone_minimiser (row_mx X (- X)) y twice_ge0 [set: 'I_(d + d)].
pose p := usubmx x; pose m := dsubmx x.
have p0 i : 0 <= p i 0 by rewrite mxE.
have m0 i : 0 <= m i 0 by rewrite mxE.
exists (p - m) => b.
pose bp : 'cV[R]_d := \col_i Num.max (b i 0) 0; pose bm : 'cV[R]_d := \col_i Num.max (- b i 0) 0.
have parts i : bp i 0 - bm i 0 = b i 0 /\ bp i 0 + bm i 0 = `|b i 0|.
  rewrite !mxE; case: (ltrgt0P (b i 0)) => [bi|bi|->]; last by rewrite oppr0 maxxx subrr addr0.
    by rewrite (max_r (ltW _)) ?oppr_lt0 // subr0 addr0.
  by rewrite (max_l (ltW _)) ?oppr_gt0 // sub0r add0r opprK.
have -> : objective X y S lam b = G (col_mx bp bm).
  rewrite cone_objective_split; congr (_ * sq (y - X *m _) + _ * _).
    by apply/colP=> i; have [<- _] := parts i; rewrite !mxE.
  by apply: eq_bigr => i _; rewrite (parts i).2.
apply: le_trans (min _ _); last first.
  split=> i; last by rewrite inE.
  by rewrite mxE; case: (fintype.split i) => j; rewrite mxE le_maxr lexx orbT.
rewrite -(vsubmxK x) -/p -/m cone_objective_split ler_add2l ler_wpmul2l //.
apply: ler_sum => i _; rewrite !mxE; apply: le_trans (ler_norm_sub _ _) _.
by rewrite !ger0_norm ?x0.
Qed.
End LassoMinimiser.
