(* The mean of the flow: s(t) = t X'(y - X mean), so the mean satisfies the optimality conditions of the LASSO at
   lambda = 1/t but for the signs; and a path of the LASSO is the mean of a flow where t|b_i| never falls. *)
From mathcomp Require Import all_ssreflect all_algebra.
From sparselin Require Import ordered_field inner_product lasso residual flow.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.POrderTheory Order.TotalTheory.
Local Open Scope ring_scope.

Section Average.
Variable R : realFieldType.
Add Field R_field : (ordered_field_field R).

Section Definitions.
Variables (d : nat) (tau : nat -> R) (b : nat -> 'cV[R]_d).
Implicit Type t : R.

(* The integral of b from 0 to t, and its mean, for t in piece k *)
Definition integral k t : 'cV[R]_d := \sum_(l < k) (tau l.+1 - tau l) *: b l + (t - tau k) *: b k.
Definition mean k t : 'cV[R]_d := t^-1 *: integral k t.
End Definitions.

Section Mean.
Variables (n d : nat) (X : 'M[R]_(n, d)) (y : 'cV[R]_n) (S : {set 'I_d}).
Variables (tau : nat -> R) (b : nat -> 'cV[R]_d) (m : nat).
Implicit Types (i : 'I_d) (t : R).
Notation state := (state X y tau b).
Notation state_at := (state_at X y tau b).
Notation integral := (integral tau b).
Notation mean := (mean tau b).
Notation in_piece := (in_piece tau m).

Lemma integral_line k t t' i : integral k t' i 0 = integral k t i 0 + (t' - t) * b k i 0.
Proof.
rewrite /integral !mxE; move: (\sum_ _ _) => q.
by move: (q i 0) (b k i 0) (tau k) => e p a; to_ring R; ring.
Qed.

Lemma integral_start k t i : integral k t i 0 = integral k (tau k) i 0 + (t - tau k) * b k i 0.
Proof. exact: integral_line. Qed.

Lemma integral_end k : integral k.+1 (tau k.+1) = integral k (tau k.+1).
Proof. by rewrite /integral big_ord_recr /= subrr scale0r addr0. Qed.

Lemma mean_entry k t i : t != 0 -> t * mean k t i 0 = integral k t i 0.
Proof. by move=> t0; rewrite mxE mulVKf. Qed.

Section Start.
Hypothesis tau0 : tau 0%N = 0.

Lemma state_integral k t i : state_at k t i = corr X (t *: y - X *m integral k t) i.
Proof.
have knot l : state l i = corr X (tau l *: y - X *m (\sum_(j < l) (tau j.+1 - tau j) *: b j)) i.
  elim: l => [|l IH]; first by rewrite big_ord0 mulmx0 tau0 scale0r subr0 corr0.
  rewrite big_ord_recr /= IH -corrZ -corrD; congr corr.
  rewrite mulmxDr -scalemxAr scalerBr opprD addrACA -scalerDl; congr (_ *: y + _).
    by rewrite addrC subrK.
rewrite /state_at knot -corrZ -corrD; congr corr.
rewrite mulmxDr -scalemxAr scalerBr opprD addrACA -scalerDl; congr (_ *: y + _).
by rewrite addrC subrK.
Qed.

(* s(t) = t X'(y - X mean) *)
Theorem state_mean k t i : t != 0 -> state_at k t i = t * corr X (y - X *m mean k t) i.
Proof.
by move=> t0; rewrite state_integral -corrZ scalerBr scalemxAr scalerA mulfV // scale1r.
Qed.
End Start.

Hypothesis fl : flow X y S tau b m.
Let tau0 : tau 0%N = 0. Proof. by case: fl. Qed.
Let increasing k : (k < m)%N -> tau k < tau k.+1. Proof. by case: fl => _ H /H[]. Qed.

Section OneTime.
Variables (k : nat) (t : R).
Hypotheses (pk : in_piece k t) (t_gt0 : 0 < t).
Let t0 : t != 0. Proof. by rewrite gt_eqF. Qed.
Let km : (k < m)%N. Proof. by case/and3P: pk. Qed.
Let corr_mean i : corr X (y - X *m mean k t) i = t^-1 * state_at k t i.
Proof. by rewrite (state_mean tau0) // mulKf. Qed.

(* The mean is a solution of the LASSO at 1/t if and only if s has its signs. *)
Theorem mean_is_lasso : minimiser X y S t^-1 (mean k t) <->
  forall i, i \notin S -> mean k t i 0 != 0 -> state_at k t i = Num.sg (mean k t i 0).
Proof.
have t1 : 0 < t^-1 by rewrite invr_gt0.
rewrite (optimality_minimiser _ _ _ _ (ltW t1)); split=> [[_ off] i iS bi|H].
  by have [_ /(_ bi)] := off i iS; rewrite corr_mean => /mulfI; apply; rewrite gt_eqF.
split=> i iS; first by rewrite corr_mean (state_at_on fl) // mulr0.
have [s1 _] := subgradient_at fl pk iS; rewrite corr_mean; split=> [|bi]; last by rewrite H.
by rewrite normrM (gtr0_norm t1) -[X in _ <= X]mulr1 ler_wpmul2l // ltW.
Qed.

(* In every case its objective is larger than that of any b' by at most this. *)
Theorem mean_excess b' : objective X y S t^-1 (mean k t) - objective X y S t^-1 b' <=
  t^-1 * \sum_(i | i \notin S) `|mean k t i 0| * (1 - state_at k t i * Num.sg (mean k t i 0)).
Proof.
have t1 : 0 < t^-1 by rewrite invr_gt0.
have E : b' = mean k t + (b' - mean k t) by rewrite addrC subrK.
rewrite -opprB {1}E objective_step (bigID (mem S)) /= big1 ?add0r => [|i iS]; last first.
  by rewrite corr_mean (state_at_on fl) // !mulr0.
rewrite -{}E; under eq_bigr do rewrite corr_mean.
rewrite -addrA opprD -[X in _ <= X]add0r; apply: ler_add.
  by rewrite oppr_le0 mulr_ge0 ?sq_ge0 // invr_ge0 ler0n.
rewrite /penalty -sumrB !mulr_sumr opprD opprK -sumrN -big_split /=.
apply: ler_sum => i iS; have [s1 _] := subgradient_at fl pk iS.
rewrite [(b' - _) i 0]mxE [(- mean k t) i 0]mxE.
move: (mean k t i 0) (b' i 0) => e e'; set s := state_at k t i in s1 *.
have -> : `|e| * (1 - s * Num.sg e) = `|e| - s * e.
  by rewrite mulrBr mulr1 mulrCA [`|e| * _]mulrC sgr_mul_norm.
rewrite mulrCA -mulrBr ler_pmul2l //.
apply: (@le_by _ (`|e'| - s * e')); last by move: `|e| `|e'| => p q; to_ring R; ring.
rewrite subr_ge0; apply: le_trans (ler_norm _) _; rewrite normrM -[X in _ <= X]mul1r.
exact: ler_wpmul2r.
Qed.

(* If s(t) has the signs of b so far, it has those of the mean. *)
Lemma steady i : i \notin S ->
  (forall l, (l <= k)%N -> b l i 0 != 0 -> state_at k t i = Num.sg (b l i 0)) ->
  mean k t i 0 != 0 -> state_at k t i = Num.sg (mean k t i 0).
Proof.
move=> iS H bi; have [s1 _] := subgradient_at fl pk iS.
have pos l : (l <= k)%N -> 0 <= state_at k t i * b l i 0.
  move=> lk; have [->|bl] := eqVneq (b l i 0) 0; first by rewrite mulr0.
  by rewrite (H l) // mulrr_sg.
apply: sg_unit => //; last first.
  have [_ le _] := and3P pk; have t1 : 0 <= t^-1 by rewrite invr_ge0 ltW.
  rewrite mxE mulrCA mulr_ge0 // !mxE summxE mulrDr mulr_sumr addr_ge0 //.
    apply: sumr_ge0 => l _; rewrite mxE mulrCA mulr_ge0 //; last by rewrite pos // ltnW.
    by rewrite subr_ge0 ltW // increasing // (ltn_trans _ km).
  by rewrite mulrCA mulr_ge0 ?subr_ge0 // pos.
apply/eqP; apply: contraNT bi => sn.
have z l : (l <= k)%N -> b l i 0 = 0.
  move=> lk; apply/eqP; apply: contraNT sn => bl; by rewrite (H l) // sg_norm1.
rewrite !mxE summxE big1 => [|l _]; last by rewrite mxE z ?mulr0 // ltnW.
by rewrite add0r z // !mulr0.
Qed.

Theorem mean_of_steady_flow :
  (forall i l, i \notin S -> (l <= k)%N -> b l i 0 != 0 -> state_at k t i = Num.sg (b l i 0)) ->
  minimiser X y S t^-1 (mean k t).
Proof. by move=> H; apply/mean_is_lasso => i iS; apply: steady => // l lk; exact: H. Qed.
End OneTime.

Definition no_coordinate_leaves := forall k l t i, in_piece l t -> (k <= l)%N -> i \notin S ->
  b k i 0 != 0 -> state_at l t i = Num.sg (b k i 0).

Lemma means_grow : (forall k t, in_piece k t -> 0 < t -> minimiser X y S t^-1 (mean k t)) ->
  forall k i, (k < m)%N -> i \notin S -> 0 <= integral k (tau k) i 0 * b k i 0.
Proof.
move=> min k i km iS; have pk := start_in_piece increasing km.
have [k0|k_gt0] := posnP k.
  by rewrite /integral k0 big_ord0 subrr scale0r addr0 mxE mul0r.
have tk : 0 < tau k by apply: (time_gt0 tau0 increasing k_gt0); exact: ltnW.
have [->|bi] := eqVneq (b k i 0) 0; first by rewrite mulr0.
have [->|Ii] := eqVneq (integral k (tau k) i 0) 0; first by rewrite mul0r.
have [_ at_s] := subgradient_at fl pk iS.
have := (mean_is_lasso pk tk).1 (min _ _ pk tk) i iS; rewrite at_s // mxE sgrM.
rewrite (gtr0_sg (_ : 0 < (tau k)^-1)) ?invr_gt0 // mul1r.
have ne : (tau k)^-1 * integral k (tau k) i 0 != 0 by rewrite mulf_neq0 // invr_eq0 gt_eqF.
move=> /(_ ne) E.
by rewrite -sgr_ge0 sgrM -[Num.sg (integral _ _ _ _)]E -expr2 sqr_ge0.
Qed.

(* The mean is a solution of the LASSO at all times if and only if no coordinate leaves. *)
Theorem mean_is_lasso_throughout :
  (forall k t, in_piece k t -> 0 < t -> minimiser X y S t^-1 (mean k t)) <-> no_coordinate_leaves.
Proof.
split=> [min k l t i pl kl iS bi|stay k t pk t0]; last first.
  by apply: mean_of_steady_flow => // i l iS lk; exact: stay.
have grow := means_grow min; have [lm le _] := and3P pl.
pose s := Num.sg (b k i 0); have ss : s * s = 1 by rewrite -expr2 sqr_sg bi.
have sbk : 0 < s * b k i 0 by rewrite mulrr_sg normr_gt0.
have agree p : 0 < s * integral p (tau p) i 0 -> 0 <= integral p (tau p) i 0 * b p i 0 -> 0 <= s * b p i 0.
  by move=> pos Ib; rewrite -(pmulr_rge0 _ pos) mulrACA ss mul1r.
have pos p : (k < p)%N -> (p <= m)%N -> 0 < s * integral p (tau p) i 0.
  elim: p => // p IH; rewrite ltnS leq_eqVlt => /orP[/eqP <-|kp] pm; rewrite integral_end integral_start mulrDr.
    rewrite ltr_paddl //; last by rewrite mulrCA mulr_gt0 // subr_gt0 increasing.
    by rewrite -(pmulr_rge0 _ sbk) mulrACA ss mul1r mulrC; exact: grow.
  have pos := IH kp (ltnW pm); rewrite ltr_paddr // mulrCA mulr_ge0 ?subr_ge0 ?(ltW (increasing pm)) //.
  by apply: agree => //; exact: grow.
move: kl; rewrite leq_eqVlt => /orP[/eqP kl|kl].
  by rewrite kl in bi *; have [_ ->] := subgradient_at fl pl iS.
have posl := pos l kl (ltnW lm).
have post : 0 < s * integral l t i 0.
  rewrite integral_start mulrDr ltr_paddr // mulrCA mulr_ge0 ?subr_ge0 //.
  by apply: agree => //; exact: grow.
have t0 : 0 < t by apply: lt_le_trans le; apply: (time_gt0 tau0 increasing (leq_ltn_trans _ kl) (ltnW lm)).
have t1 : 0 < t^-1 by rewrite invr_gt0.
have sm : 0 < s * mean l t i 0 by rewrite mxE mulrCA mulr_gt0.
have := (mean_is_lasso pl t0).1 (min _ _ pl t0) i iS.
have [m0|mi] := eqVneq (mean l t i 0) 0; first by rewrite m0 mulr0 ltxx in sm.
move=> ->//; apply/esym; apply: sg_unit => //; last exact: ltW.
exact: sg_norm1.
Qed.
End Mean.

(* t|b_i(t)| never falls, where b(t) is a solution of the LASSO at 1/t *)
Section Growth.
Variables (n d : nat) (X : 'M[R]_(n, d)) (y : 'cV[R]_n) (S : {set 'I_d}).
Variables (tau : nat -> R) (b : nat -> 'cV[R]_d) (m : nat).
Hypothesis tau0 : tau 0%N = 0.
Hypothesis increasing : forall k, (k < m)%N -> tau k < tau k.+1.
Hypothesis min : forall k t, in_piece tau m k t -> 0 < t -> minimiser X y S t^-1 (mean tau b k t).
Notation mean := (mean tau b).
Notation integral := (integral tau b).

Definition never_falls := forall k t t' i, in_piece tau m k t -> in_piece tau m k t' -> t <= t' -> i \notin S ->
  t * `|mean k t i 0| <= t' * `|mean k t' i 0|.

Lemma norm_integral k t i : in_piece tau m k t -> t * `|mean k t i 0| = `|integral k t i 0|.
Proof.
move=> pk; have t_ge0 := in_piece_ge0 tau0 increasing pk.
have [t0|t0] := eqVneq t 0; last by rewrite -(mean_entry _ _ _ _ t0) normrM ger0_norm.
have [km le _] := and3P pk; rewrite t0 mul0r.
case: k km le {pk} => [|k] km le; last first.
  by have := time_gt0 tau0 increasing (ltn0Sn k) (ltnW km); rewrite ltNge -{1}t0 le.
by rewrite /integral big_ord0 tau0 subrr scale0r addr0 mxE normr0.
Qed.

Theorem lasso_is_mean_of_flow : flow X y S tau b m <-> never_falls.
Proof.
split=> [fl k t t' i pk pk' tt' iS|grow].
  rewrite !norm_integral // !(integral_start _ _ k t) (integral_start _ _ k t').
  have [km start _] := and3P pk; have [_ start' _] := and3P pk'.
  have := means_grow fl min km iS; move: (integral _ _ _ _) (b k i 0) => I B IB.
  have E h : 0 <= h -> `|I + h * B| = `|I| + h * `|B|.
    move=> h0; have hB : `|h * B| = h * `|B| by rewrite normrM ger0_norm.
    have [->|I0] := eqVneq I 0; first by rewrite normr0 !add0r.
    have [->|B0] := eqVneq B 0; first by rewrite normr0 !mulr0 !addr0.
    have sB : Num.sg B = Num.sg I.
      apply: sg_unit => //; first exact: sg_norm1.
      rewrite -(pmulr_rge0 _ (_ : 0 < `|B|)) ?normr_gt0 //.
      by rewrite mulrA [`|B| * _]mulrC sgr_mul_norm mulrC.
    have -> : I + h * B = Num.sg I * (`|I| + h * `|B|).
      by rewrite mulrDr mulrCA -{2}sB !sgr_mul_norm.
    by rewrite normrM sg_norm1 // mul1r ger0_norm // addr_ge0 // mulr_ge0.
  by rewrite !E ?subr_ge0 // ler_add2l ler_wpmul2r // ler_add2r.
split=> // k km; have lt := increasing km.
have [p1 p2] := (start_in_piece increasing km, end_in_piece increasing km).
pose mid := (tau k + tau k.+1) / 2%:R; have [m1 m2] := midf_lt lt; rewrite -/mid in m1 m2.
have p3 : in_piece tau m k mid by rewrite /in_piece km !ltW.
have pos t : tau k < t -> 0 < t by apply: le_lt_trans; rewrite (time_ge0 tau0 increasing) // ltnW.
pose s := state_at X y tau b k.
have opt t : 0 < t -> in_piece tau m k t ->
    (forall i, i \in S -> s t i = 0) /\ (forall i, i \notin S -> `|s t i| <= 1 /\
      (mean k t i 0 != 0 -> s t i = Num.sg (mean k t i 0))).
  move=> t_gt0 pk; have t0 : t != 0 by rewrite gt_eqF.
  have t1 : 0 <= t^-1 by rewrite invr_ge0 ltW.
  have [on off] := optimality_necessary t1 (min pk t_gt0); rewrite /s.
  split=> i iS; rewrite (state_mean _ _ _ tau0) //; first by rewrite on // mulr0.
  have [le at_lam] := off i iS; split=> [|/at_lam->]; last by rewrite mulrA mulfV // mul1r.
  by rewrite normrM (gtr0_norm t_gt0) -(mulfV t0) ler_pmul2l.
have const i a : s mid i = a -> s (tau k.+1) i = a -> corr X (y - X *m b k) i = 0.
  move=> e1 e2; have := state_line X y tau b k mid (tau k.+1) i; rewrite -/s e1 e2 subrr.
  by move/eqP; rewrite eq_sym mulf_eq0 subr_eq0 gt_eqF //= => /eqP.
have [on2 off2] := opt _ (pos _ lt) p2; have [on3 off3] := opt _ (pos _ m1) p3.
have start i : state X y tau b k i = s (tau k.+1) i - (tau k.+1 - tau k) * corr X (y - X *m b k) i.
  by rewrite -(state_line X y tau b k (tau k) (tau k.+1)) -/s opprB addrC subrK /s state_start.
have sign i : i \notin S -> b k i 0 != 0 -> forall t, tau k < t -> in_piece tau m k t ->
    s t i = Num.sg (b k i 0).
  move=> iS bi t lt_t pk; have [_ at_s] := (opt t (pos _ lt_t) pk).2 i iS.
  have IB : 0 <= integral k (tau k) i 0 * b k i 0.
    rewrite -oppr_le0 -(pmulr_rle0 _ (ltr0n R 2)).
    apply: (@first_order R (b k i 0 ^+ 2) _ (tau k.+1 - tau k)); rewrite ?sqr_ge0 ?subr_gt0 // => h h0 hk.
    have ph : in_piece tau m k (tau k + h) by rewrite /in_piece km ler_addl ltW //= -ler_subr_addl.
    have := grow k (tau k) (tau k + h) i p1 ph; rewrite ler_addl (ltW h0) => /(_ isT iS).
    rewrite !norm_integral // (integral_start _ _ k (tau k + h)).
    have -> : tau k + h - tau k = h by rewrite addrC addKr.
    move: (integral _ _ _ _) (b k i 0) => I B; rewrite -ler_sqr ?nnegrE // !real_normK ?num_real //.
    by rewrite -subr_ge0; congr (0 <= _); to_ring R; ring.
  have t1 : 0 < t^-1 by rewrite invr_gt0 pos.
  have bm : 0 < b k i 0 * mean k t i 0.
    rewrite mxE mulrCA pmulr_rgt0 // integral_start mulrDr ltr_paddl //; first by rewrite mulrC.
    by rewrite mulrCA -expr2 pmulr_rgt0 ?subr_gt0 // lt_neqAle sqr_ge0 eq_sym expf_neq0.
  have mi : mean k t i 0 != 0 by apply: contraTneq bm => ->; rewrite mulr0 ltxx.
  rewrite at_s //; apply: sg_unit => //; first exact: sg_norm1.
  rewrite -sgr_ge0 sgrM sgr_id -sgrM sgr_ge0 mulrC; exact: ltW.
have zero i : i \notin S -> b k i 0 != 0 -> corr X (y - X *m b k) i = 0.
  by move=> iS bi; apply: (const i (Num.sg (b k i 0))); rewrite sign.
split=> // [i iS|i iS|i iS].
- by apply: (const i 0); [exact: on3 | exact: on2].
- split=> [|bi]; last by rewrite start zero // mulr0 subr0 sign.
  have [k0|k_gt0] := posnP k; first by rewrite k0 /= normr0 ler01.
  by have [] := (opt _ (time_gt0 tau0 increasing k_gt0 (ltnW km)) p1).2 i iS; rewrite /s state_start.
have [s1 _] := off2 i iS; split=> // bi; exact: (sign i iS bi (tau k.+1)).
Qed.
End Growth.
End Average.
