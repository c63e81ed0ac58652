(* A checker of certificates by computation on lists of integers, and its soundness.

   A design is a list of columns of integers, X = 2^-e of them, and y = 2^-f of a list of integers. A certificate
   of a pick holds least squares coefficients fit/D on S and a direction dir/E of Sequential LASSO, of integers. With

     R = D y - X fit,   C = X'R,   Q = X dir,   B = X'Q

   the residual r is a positive multiple of R/D, and the conditions on c and on X'X delta read as below. *)
From Coq Require Import ZArith Lia.
From mathcomp Require Import all_ssreflect all_algebra.
From sparselin Require Import ordered_field inner_product lasso residual window active runs.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.POrderTheory Order.TotalTheory.

Delimit Scope Z_scope with BZ.  (* %Z is taken by the integers of Mathematical Components *)

Section Checker.
Local Open Scope Z_scope.

Definition column := seq Z.

Fixpoint dot_Z (u v : column) : Z :=
  match u, v with a :: u', b :: v' => a * b + dot_Z u' v' | _, _ => 0 end.

Fixpoint add_multiple (a : Z) (u v : column) : column :=
  match u, v with x :: u', z :: v' => (x * a + z) :: add_multiple a u' v' | _, _ => [::] end.

(* sum of a_j X_j *)
Fixpoint combination (n : nat) (columns : seq column) (a : seq Z) : column :=
  match columns, a with
  | u :: columns', x :: a' =>
      if x =? 0 then combination n columns' a' else add_multiple x u (combination n columns' a')
  | _, _ => nseq n 0
  end.

Record step_certificate := Step {
  pick : nat; fit_denominator : Z; fit : seq Z; direction_denominator : Z; direction_numerator : seq Z }.

Definition residual_Z n columns y (s : step_certificate) : column :=
  add_multiple (fit_denominator s) y (combination n columns [seq - a | a <- fit s]).

(* |C_j| <= |C_pick| off S, C = 0 on S, where fit is zero off S *)
Definition check_omp (d : nat) (S : seq nat) (s : step_certificate) (C : seq Z) : bool :=
  let largest := Z.abs (nth 0 C (pick s)) in
  [&& 0 <? fit_denominator s, (pick s < d)%N, pick s \notin S, 0 <? largest &
    all (fun j => if j \in S then nth 0 C j =? 0
      else (nth 0 (fit s) j =? 0) && (Z.abs (nth 0 C j) <=? largest)) (iota 0 d)].

(* B = 0 on S; off S dir_j C_j > 0 and B_j/E = C_j/D where dir_j is not zero, which is in T alone, and in T B_j/E has
   the sign of C_j and is at least as large as C_j/D. `if` and not ||: vm_compute evaluates both sides of that. *)
Definition check_direction (d : nat) (S : seq nat) (s : step_certificate) (C B : seq Z) : bool :=
  let D := fit_denominator s in let E := direction_denominator s in
  let largest := Z.abs (nth 0 C (pick s)) in
  [&& 0 <? E, ~~ (nth 0 (direction_numerator s) (pick s) =? 0) &
    all (fun j =>
      let c := nth 0 C j in let b := nth 0 B j in let x := nth 0 (direction_numerator s) j in
      if j \in S then b =? 0
      else (if x =? 0 then true else [&& Z.abs c =? largest, 0 <? c * x & D * b =? E * c])
        && (if Z.abs c <? largest then true else E * (largest * largest) <=? D * (c * b))) (iota 0 d)].

Definition check_step (sequential : bool) n d columns y S s : bool :=
  let R := residual_Z n columns y s in
  let C := [seq dot_Z u R | u <- columns] in
  check_omp d S s C &&
    (~~ sequential ||
      let Q := combination n columns (direction_numerator s) in
      check_direction d S s C [seq dot_Z u Q | u <- columns]).

Fixpoint check_steps sequential n d columns y S steps : bool :=
  if steps is s :: steps' then
    check_step sequential n d columns y S s && check_steps sequential n d columns y (pick s :: S) steps'
  else true.

(* Whether the steps prove the run that begins with the features of S; the lists must have the stated lengths. *)
Definition check (sequential : bool) (n d : nat) columns y (S : seq nat) steps : bool :=
  [&& size columns == d, all (fun u => size u == n) columns, size y == n, all (fun j => (j < d)%N) S &
    check_steps sequential n d columns y S steps].
End Checker.

Local Open Scope ring_scope.

Section Integers.
Variable R : realFieldType.
Add Field R_field : (ordered_field_field R).

(* The integer z in R *)
Definition of_Z (z : Z) : R := (Z.to_nat z)%:R - (Z.to_nat (- z))%:R.

Lemma of_ZB (a b : nat) : of_Z (Z.of_nat a - Z.of_nat b) = a%:R - b%:R.
Proof.
apply/eqP; rewrite /of_Z subr_eq addrAC eq_sym subr_eq -!natrD eqr_nat; apply/eqP.
rewrite -!plusE; lia.
Qed.

Lemma of_Z_parts z : z = (Z.of_nat (Z.to_nat z) - Z.of_nat (Z.to_nat (- z)))%BZ.
Proof. lia. Qed.

Lemma of_ZD a b : of_Z (a + b) = of_Z a + of_Z b.
Proof.
rewrite {1}(of_Z_parts a) {1}(of_Z_parts b).
set p := Z.to_nat a; set q := Z.to_nat (- a); set s := Z.to_nat b; set t := Z.to_nat (- b).
have -> : (Z.of_nat p - Z.of_nat q + (Z.of_nat s - Z.of_nat t) = Z.of_nat (p + s) - Z.of_nat (q + t))%BZ.
  by rewrite -!plusE; lia.
rewrite of_ZB !natrD /of_Z -/p -/q -/s -/t.
by move: (p%:R) (q%:R) (s%:R) (t%:R) => x y z w; to_ring R; ring.
Qed.

Lemma of_ZN a : of_Z (- a) = - of_Z a.
Proof. by rewrite /of_Z Z.opp_involutive opprB. Qed.

Lemma of_Z0 : of_Z 0 = 0.
Proof. by rewrite /of_Z subrr. Qed.

Lemma of_ZM a b : of_Z (a * b) = of_Z a * of_Z b.
Proof.
rewrite {1}(of_Z_parts a) {1}(of_Z_parts b).
set p := Z.to_nat a; set q := Z.to_nat (- a); set s := Z.to_nat b; set t := Z.to_nat (- b).
have -> : ((Z.of_nat p - Z.of_nat q) * (Z.of_nat s - Z.of_nat t)
    = Z.of_nat (p * s + q * t) - Z.of_nat (p * t + q * s))%BZ.
  by rewrite -!plusE -!multE !Nat2Z.inj_add !Nat2Z.inj_mul; ring.
rewrite of_ZB !natrD !natrM /of_Z -/p -/q -/s -/t.
by move: (p%:R) (q%:R) (s%:R) (t%:R) => x y z w; to_ring R; ring.
Qed.

Lemma of_Z_gt0 a : (0 <? a)%BZ -> 0 < of_Z a.
Proof.
move=> /Z.ltb_lt a0; rewrite /of_Z; have -> : Z.to_nat (- a) = 0%N by lia.
by rewrite subr0 ltr0n; apply/ssrnat.ltP; lia.
Qed.

Lemma of_Z_le a b : (a <=? b)%BZ -> of_Z a <= of_Z b.
Proof.
move=> /Z.leb_le le; rewrite -subr_ge0 -of_ZN -of_ZD.
have -> : (b + - a = Z.of_nat (Z.to_nat (b - a)) - Z.of_nat 0)%BZ by lia.
by rewrite of_ZB subr0 ler0n.
Qed.

Lemma of_Z_lt a b : (a <? b)%BZ -> of_Z a < of_Z b.
Proof.
move=> /Z.ltb_lt lt; rewrite -subr_gt0 -of_ZN -of_ZD; apply: of_Z_gt0.
by apply/Z.ltb_lt; lia.
Qed.

Lemma of_Z_eq a b : (a =? b)%BZ -> of_Z a = of_Z b.
Proof. by move/Z.eqb_eq=> ->. Qed.

Lemma of_Z_abs a : of_Z (Z.abs a) = `|of_Z a|.
Proof.
case: (Z.leb_spec 0 a) => a0.
  rewrite Z.abs_eq // ger0_norm //; rewrite -of_Z0; exact/of_Z_le/Z.leb_le.
rewrite Z.abs_neq; last by lia.
rewrite of_ZN ltr0_norm //; rewrite -of_Z0; exact/of_Z_lt/Z.ltb_lt.
Qed.
End Integers.

Section Soundness.
Variable R : realFieldType.
Add Field R_field' : (ordered_field_field R).
Notation toR := (of_Z R).

Definition vector n (u : column) : 'cV[R]_n := \col_k toR (nth 0%BZ u k).
Definition design n d (columns : seq column) : 'M[R]_(n, d) :=
  \matrix_(k, j) toR (nth 0%BZ (nth [::] columns j) k).

Lemma dot_ZE n u v : size u = n -> size v = n -> toR (dot_Z u v) = dot (vector n u) (vector n v).
Proof.
rewrite /dot; elim: u v n => [|a u IH] [|b v] [|n] //=; first by move=> _ _; rewrite big_ord0 of_Z0.
move=> [un] [vn]; rewrite of_ZD of_ZM big_ord_recl !mxE /=; congr (_ + _).
by rewrite (IH v n) //; apply: eq_bigr => k _; rewrite !mxE.
Qed.

Lemma size_add_multiple a u v n : size u = n -> size v = n -> size (add_multiple a u v) = n.
Proof. by elim: u v n => [|x u IH] [|z v] [|n] //= [un] [vn]; rewrite (IH v n). Qed.

Lemma nth_add_multiple a u v k : size u = size v ->
  nth 0%BZ (add_multiple a u v) k = (nth 0%BZ u k * a + nth 0%BZ v k)%BZ.
Proof. by elim: u v k => [|x u IH] [|z v] [|k] //= [uv]; rewrite IH. Qed.

Lemma vector_add_multiple n a u v : size u = n -> size v = n ->
  vector n (add_multiple a u v) = toR a *: vector n u + vector n v.
Proof.
move=> un vn; apply/colP=> k; rewrite !mxE nth_add_multiple ?un ?vn // of_ZD of_ZM.
by rewrite [toR _ * toR a]mulrC.
Qed.

Lemma size_combination n columns a : all (fun u => size u == n) columns ->
  size (combination n columns a) = n.
Proof.
elim: columns a => [|u cs IH] [|x a] /=; rewrite ?size_nseq // => /andP[/eqP un /IH{IH} IH].
by case: ifP => _; [exact: IH | apply: size_add_multiple => //; exact: IH].
Qed.

Lemma toR_nth_combination n columns a k : all (fun u => size u == n) columns -> (k < n)%N ->
  toR (nth 0%BZ (combination n columns a) k) =
  \sum_(j < size columns) toR (nth 0%BZ (nth [::] columns j) k) * toR (nth 0%BZ a j).
Proof.
move=> + kn; elim: columns a => [|u cs IH] [|x a] /= sizes.
- by rewrite nth_nseq kn big_ord0 of_Z0.
- by rewrite nth_nseq kn big_ord0 of_Z0.
- by rewrite nth_nseq kn of_Z0 big1 // => j _; rewrite nth_nil of_Z0 mulr0.
have /andP[/eqP un sizes'] := sizes; rewrite big_ord_recl /=.
have [/Z.eqb_eq->|x0] := boolP (x =? 0)%BZ.
  by rewrite of_Z0 mulr0 add0r IH.
by rewrite nth_add_multiple ?un ?size_combination // of_ZD of_ZM IH.
Qed.

Lemma vector_combination n d columns a : size columns = d -> all (fun u => size u == n) columns ->
  vector n (combination n columns a) = design n d columns *m vector d a.
Proof.
move=> cd sizes; apply/colP=> k; rewrite !mxE toR_nth_combination // cd.
by apply: eq_bigr => j _; rewrite !mxE.
Qed.

Variables (n d : nat) (columns : seq column) (y : column).
Hypothesis columns_d : size columns = d.
Hypothesis sizes : all (fun u => size u == n) columns.
Hypothesis y_n : size y = n.
Notation Xi := (design n d columns).

Lemma vector_residual s : vector n (residual_Z n columns y s) =
  toR (fit_denominator s) *: vector n y - Xi *m vector d (fit s).
Proof.
rewrite vector_add_multiple ?size_combination // (vector_combination _ columns_d) //; congr (_ + _).
rewrite -mulmxN; congr (_ *m _); apply/colP=> j; rewrite !mxE -of_ZN; congr toR.
have [lt|ge] := ltnP j (size (fit s)); first by rewrite (nth_map 0%BZ).
by rewrite !nth_default ?size_map.
Qed.

Lemma toR_correlation u (j : 'I_d) : size u = n ->
  toR (nth 0%BZ [seq dot_Z v u | v <- columns] j) = corr Xi (vector n u) j.
Proof.
move=> un; rewrite (nth_map [::]) ?columns_d // (dot_ZE (n := n)) //; last first.
  by apply/eqP; move/(all_nthP [::]): sizes; apply; rewrite columns_d.
by congr (dot _ _); apply/colP=> k; rewrite !mxE.
Qed.

(* X and y with their scales *)
Variables (u w : R).
Hypotheses (u_gt0 : 0 < u) (w_gt0 : 0 < w).
Notation X := (u *: Xi).
Notation Y := (w *: vector n y).

Lemma corr_scaled v j : corr X v j = u * corr Xi v j.
Proof.
rewrite /corr -dotZl; congr (dot _ _); apply/colP=> k; rewrite !mxE //.
Qed.

Lemma all_iota (P : pred nat) (j : 'I_d) : all P (iota 0 d) -> P j.
Proof. by move/allP; apply; rewrite mem_iota /=. Qed.

Section Step.
Variables (S : seq nat) (s : step_certificate).
Notation Sset := [set i : 'I_d | val i \in S].
Notation r_Z := (residual_Z n columns y s).
Notation C := [seq dot_Z v r_Z | v <- columns].
Notation D := (toR (fit_denominator s)).
Hypothesis omp_ok : check_omp d S s C.

Lemma size_residual : size r_Z = n.
Proof. by apply: size_add_multiple; rewrite ?size_combination. Qed.

Definition fit_b : 'cV[R]_d := (w / (u * D)) *: vector d (fit s).

Lemma D_gt0 : 0 < D.
Proof. by case/and5P: omp_ok => /of_Z_gt0. Qed.

Lemma fit_zero_off : zero_off Sset fit_b.
Proof.
case/and5P: omp_ok => _ _ _ _ H i; rewrite inE => iS.
by have := all_iota i H; rewrite (negbTE iS) => /andP[/Z.eqb_eq fi _]; rewrite !mxE fi of_Z0 mulr0.
Qed.

Lemma fit_residualE : Y - X *m fit_b = (w / D) *: vector n r_Z.
Proof.
have D0 : D != 0 by rewrite gt_eqF ?D_gt0.
have u0 : u != 0 by rewrite gt_eqF.
rewrite vector_residual scalerBr scalerA divfK //; congr (_ - _).
rewrite -scalemxAl -scalemxAr scalerA; congr (_ *: _).
by move: D D0 => D' D0; rewrite invfM mulrCA [u * _]mulrA mulfV // mul1r.
Qed.

Lemma fit_residual : Y - X *m fit_b = residual X Sset Y.
Proof.
apply/(zero_off_residual fit_zero_off) => i; rewrite inE => iS.
rewrite fit_residualE corrZ corr_scaled -(toR_correlation i size_residual).
case/and5P: omp_ok => _ _ _ _ /(all_iota i); rewrite iS => /Z.eqb_eq->.
by rewrite of_Z0 !mulr0.
Qed.

Lemma correlation_Z i : correlation X Sset Y i = (u * w / D) * toR (nth 0%BZ C i).
Proof.
rewrite /correlation -fit_residual fit_residualE corrZ corr_scaled (toR_correlation i size_residual).
by rewrite mulrA; congr (_ * _); rewrite mulrC mulrA.
Qed.

Lemma scale_gt0 : 0 < u * w / D.
Proof. by rewrite divr_gt0 ?mulr_gt0 ?D_gt0. Qed.

Lemma norm_correlation_Z i : `|correlation X Sset Y i| = (u * w / D) * toR (Z.abs (nth 0%BZ C i)).
Proof. by rewrite correlation_Z normrM (gtr0_norm scale_gt0) of_Z_abs. Qed.

Lemma check_omp_sound (i : 'I_d) : val i = pick s -> omp_step X Y Sset i.
Proof.
move=> ip; case/and5P: omp_ok => _ _ pS pos H; rewrite /omp_step inE ip; split=> //.
rewrite norm_correlation_Z ip; split=> [|j]; first by rewrite mulr_gt0 ?scale_gt0 // of_Z_gt0.
rewrite inE => jS; rewrite norm_correlation_Z ler_pmul2l ?scale_gt0 //.
by have := all_iota j H; rewrite (negbTE jS) => /andP[_]; exact: of_Z_le.
Qed.

Notation Q := (combination n columns (direction_numerator s)).
Notation B := [seq dot_Z v Q | v <- columns].
Notation E := (toR (direction_denominator s)).
Hypothesis direction_ok : check_direction d S s C B.

Definition direction_b : 'cV[R]_d := (w / (u * E)) *: vector d (direction_numerator s).

Lemma E_gt0 : 0 < E.
Proof. by case/and3P: direction_ok => /of_Z_gt0. Qed.

Lemma corr_direction i : corr X (X *m direction_b) i = (u * w / E) * toR (nth 0%BZ B i).
Proof.
have u0 : u != 0 by rewrite gt_eqF.
rewrite -scalemxAl -scalemxAr -(vector_combination _ columns_d sizes) scalerA corrZ corr_scaled.
rewrite (toR_correlation i) ?size_combination //.
have E0 : E <> 0 by apply/eqP; rewrite gt_eqF ?E_gt0.
by move/eqP: u0; move: E E0 (corr Xi _ _) => e e0 t u0; to_ring R; field; split.
Qed.

Lemma check_direction_sound (i : 'I_d) : val i = pick s -> sequential_lasso_step X Y Sset i.
Proof.
move=> ip; have step := check_omp_sound ip; have [L0 iT] := (omp_stepP _ _ _ _).1 step.
case/and3P: direction_ok => _ di H; have iS : i \notin Sset by case/tiedP: iT.
have LE : lambda_star X Sset Y = (u * w / D) * toR (Z.abs (nth 0%BZ C i)).
  by rewrite -norm_correlation_Z; case/tiedP: iT => _ ->.
have entry j : direction_b j 0 = w / (u * E) * toR (nth 0%BZ (direction_numerator s) j) by rewrite !mxE.
have wE : 0 < w / (u * E) by rewrite divr_gt0 ?mulr_gt0 ?E_gt0.
have kD := scale_gt0; have D0 := D_gt0; have E0 := E_gt0.
have kE : 0 < u * w / E by rewrite divr_gt0 ?mulr_gt0.
have nonzero a : toR a != 0 -> (a =? 0)%BZ = false.
  by move=> a0; apply: contraNF a0 => /Z.eqb_eq->; rewrite of_Z0.
apply: (certified_step L0 (delta := direction_b) (b0 := fit_b)) => //.
- split=> j; rewrite inE => jS; rewrite corr_direction; have := all_iota j H.
    by rewrite jS => /Z.eqb_eq->; rewrite of_Z0 mulr0.
  rewrite (negbTE jS) => /andP[first second]; split=> [|jT].
    rewrite entry mulf_eq0 negb_or => /andP[_ /nonzero xj].
    move: first; rewrite xj /= => /and3P[/(of_Z_eq R) cL pos /Z.eqb_eq eq].
    have jT : j \in tied X Sset Y.
      by apply/tiedP; rewrite inE jS norm_correlation_Z LE ip cL.
    split=> //.
      by rewrite correlation_Z mulrACA (pmulr_rgt0 _ (mulr_gt0 kD wE)) -of_ZM of_Z_gt0.
    rewrite correlation_Z.
    have := congr1 toR eq; rewrite !of_ZM.
    move: (toR (nth _ C j)) (toR (nth _ B j)) => c b e.
    have -> : b = E * c / D by rewrite -e mulrC mulKf // gt_eqF.
    have D' : D <> 0 by apply/eqP; rewrite gt_eqF.
    have E' : E <> 0 by apply/eqP; rewrite gt_eqF.
    by move: D E D' E' => p q p0 q0; to_ring R; field; split.
  rewrite LE correlation_Z; move: second; rewrite -ip.
  have -> /= : (Z.abs (nth 0 C j) <? Z.abs (nth 0 C i))%BZ = false.
    apply/negbTE; apply/negP=> /(of_Z_lt R) lt; case/tiedP: jT => _; rewrite norm_correlation_Z LE.
    by move/(mulfI (lt0r_neq0 kD)) => e; move: lt; rewrite e ltxx.
  move=> /(of_Z_le R); rewrite !of_ZM.
  move: (toR (Z.abs _)) (toR (nth _ C j)) (toR (nth _ B j)) => l c b le.
  have pos : 0 < (u * w) ^+ 2 / (D * D * E) by rewrite divr_gt0 ?exprn_gt0 ?mulr_gt0.
  have D' : D != 0 by rewrite gt_eqF.
  have E' : E != 0 by rewrite gt_eqF.
  have -> : (u * w / D * l) ^+ 2 = (u * w) ^+ 2 / (D * D * E) * (E * (l * l)).
    move/eqP: D' => D'; move/eqP: E' => E'; move: D E D' E' => p q p0 q0.
    by to_ring R; field; split.
  have -> : u * w / D * c * (u * w / E * b) = (u * w) ^+ 2 / (D * D * E) * (D * (c * b)).
    move/eqP: D' => D'; move/eqP: E' => E'; move: D E D' E' => p q p0 q0.
    by to_ring R; field; split.
  by rewrite ler_pmul2l.
- rewrite entry mulf_neq0 ?(gt_eqF wE) // ip.
  apply: contraNneq di => z; apply/Z.eqb_eq.
  case: (Z.eqb_spec (nth 0%BZ (direction_numerator s) (pick s)) 0) => // nz.
  have : (0 <? Z.abs (nth 0%BZ (direction_numerator s) (pick s)))%BZ by apply/Z.ltb_lt; lia.
  by move/(of_Z_gt0 R); rewrite of_Z_abs z normr0 ltxx.
- exact: fit_zero_off.
exact: fit_residual.
Qed.
End Step.

Lemma check_steps_sound sequential S steps : check_steps sequential n d columns y S steps ->
  exists p : seq 'I_d, [/\ [seq val i | i <- p] = [seq pick s | s <- steps],
    omp_run X Y [set i | val i \in S] p &
    sequential -> sequential_lasso_run X Y [set i | val i \in S] p].
Proof.
elim: steps S => [|s steps IH] S /=; first by exists [::].
case/andP=> /andP[omp_ok seq_ok] /IH[p [pE omp sl]].
have lt : (pick s < d)%N by case/and5P: omp_ok.
pose i := Ordinal lt; exists (i :: p).
have setE : i |: [set j : 'I_d | val j \in S] = [set j : 'I_d | val j \in pick s :: S].
  by apply/setP=> j; rewrite !inE -val_eqE.
rewrite /= pE; split=> //=; first by split; [exact: check_omp_sound omp_ok i erefl | rewrite setE].
move=> yes; split; last by rewrite setE; exact: sl.
move: seq_ok; rewrite yes /= => dir; exact: (check_direction_sound omp_ok dir (i := i) erefl).
Qed.
End Soundness.
