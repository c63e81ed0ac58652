(* The flow ds/dt = c = X'(y - Xb), s(0) = 0, with s in the subdifferential of the norm |b|_1 off S and c = 0 on S:
   the inverse scale space flow, the limit of gradient flow on w*theta without a penalty.

   b is piecewise constant, b_k from tau_k to tau_{k+1}. So s is linear on each piece, and the conditions at both ends
   of a piece imply them between the ends. They imply that b_k is least squares on the face of s, and that s and the
   Xb_k are unique. *)
From mathcomp Require Import all_ssreflect all_algebra.
From sparselin Require Import ordered_field inner_product lasso residual.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.POrderTheory Order.TotalTheory.
Local Open Scope ring_scope.

Section Scalars.
Variable R : realFieldType.
Implicit Types a b c h s t u v : R.
Add Field R_field : (ordered_field_field R).

(* Between its ends a linear function is a mean of its values there. *)
Lemma between a h c t : 0 <= t -> t <= h -> 0 < h ->
  exists2 p, 0 <= p <= 1 & a + t * c = (1 - p) * a + p * (a + h * c).
Proof.
move=> t0 th h0; exists (t / h); first by rewrite divr_ge0 ?(ltW h0) // ler_pdivr_mulr // mul1r.
have {1}-> : t = t / h * h by rewrite mulfVK // gt_eqF.
by move: (t / h) => p; to_ring R; ring.
Qed.

Lemma sg_unit s a : `|s| = 1 -> 0 <= s * a -> a != 0 -> s = Num.sg a.
Proof.
move=> s1 sa a0; have sg1 : Num.sg (s * a) = 1.
  by apply/gtr0_sg; rewrite lt_neqAle sa andbT eq_sym mulf_neq0 // -normr_eq0 s1 oner_eq0.
have s0 : s != 0 by rewrite -normr_eq0 s1 oner_eq0.
have E : s = Num.sg s by rewrite -[LHS]sgr_mul_norm s1 mulr1.
by rewrite E -[LHS]mulr1 -sg1 sgrM mulrA -expr2 sqr_sg s0 mul1r.
Qed.

Lemma sg_norm1 a : a != 0 -> `|Num.sg a| = 1.
Proof. by move=> a0; rewrite normr_sg a0. Qed.

Lemma small (I : finType) (P : I -> R -> Prop) :
  (forall i, exists2 h, 0 < h & forall t, 0 <= t -> t <= h -> P i t) ->
  exists2 h, 0 < h & forall t, 0 <= t -> t <= h -> forall i, P i t.
Proof.
move=> H; suff [h h0 Hh] : exists2 h, 0 < h & forall t, 0 <= t -> t <= h -> forall i, i \in enum I -> P i t.
  by exists h => // t t0 th i; apply: Hh; rewrite ?mem_enum.
elim: (enum I) => [|j r [h h0 Hh]]; first by exists 1; rewrite ?ltr01.
have [g g0 Hg] := H j; exists (Num.min g h); first by rewrite lt_minr g0.
by move=> t t0; rewrite le_minr => /andP[tg th] i; rewrite inE => /orP[/eqP->|/Hh]; [exact: Hg | apply].
Qed.
End Scalars.

Section Flow.
Variable R : realFieldType.
Add Field R_field : (ordered_field_field R).

Section Definitions.
Variables (n d : nat) (X : 'M[R]_(n, d)) (y : 'cV[R]_n) (S : {set 'I_d}).
Implicit Types (s : 'I_d -> R) (b : 'cV[R]_d) (i : 'I_d) (t : R).

(* Off S, |s_i| <= 1, and s_i is the sign of b_i where b_i is not zero. *)
Definition subgradient s b := forall i, i \notin S ->
  `|s i| <= 1 /\ (b i 0 != 0 -> s i = Num.sg (b i 0)).

Section Pieces.
Variables (tau : nat -> R) (b : nat -> 'cV[R]_d).

Fixpoint state k i : R :=
  if k is l.+1 then state l i + (tau l.+1 - tau l) * corr X (y - X *m b l) i else 0.

(* s(t), for t in piece k *)
Definition state_at k t i : R := state k i + (t - tau k) * corr X (y - X *m b k) i.

Definition flow m := tau 0%N = 0 /\ forall k, (k < m)%N ->
  [/\ tau k < tau k.+1, forall i, i \in S -> corr X (y - X *m b k) i = 0,
      subgradient (state k) (b k) & subgradient (state k.+1) (b k)].

Definition in_piece m k t := [&& (k < m)%N, tau k <= t & t <= tau k.+1].
End Pieces.

(* The face of s, and the optimality conditions of least squares on it *)
Definition on_face s b := forall i, i \notin S -> 0 <= s i * b i 0 /\ (`|s i| < 1 -> b i 0 = 0).

Definition saddle s b := [/\ forall i, i \in S -> corr X (y - X *m b) i = 0, subgradient s b &
  forall i, i \notin S -> (b i 0 != 0 -> corr X (y - X *m b) i = 0) /\
    (`|s i| = 1 -> s i * corr X (y - X *m b) i <= 0)].
End Definitions.

Section Saddles.
Variables (n d : nat) (X : 'M[R]_(n, d)) (y : 'cV[R]_n) (S : {set 'I_d}).
Implicit Types (s : 'I_d -> R) (b : 'cV[R]_d) (i : 'I_d) (t h : R).
Notation c b i := (corr X (y - X *m b) i).

Lemma subgradient_between s g b t h : 0 <= t -> t <= h -> subgradient S s b ->
  subgradient S (fun i => s i + h * g i) b -> subgradient S (fun i => s i + t * g i) b.
Proof.
move=> t0 th sb sb' i iS; have [s1 at_s] := sb i iS; have [s1' at_s'] := sb' i iS.
have [h0|h_gt0] := leP h 0.
  have -> : t = 0 by apply/eqP; rewrite eq_le t0 (le_trans th h0).
  by rewrite mul0r addr0.
have [p /andP[p0 p1] ->] := between (s i) (g i) t0 th h_gt0; split=> [|bi]; last first.
  rewrite at_s' // at_s //; move: (Num.sg _) => e; to_ring R; ring.
apply: le_trans (ler_norm_add _ _) _; rewrite !normrM (ger0_norm p0) ger0_norm ?subr_ge0 //.
have e : (1 - p) * 1 + p * 1 = 1 by to_ring R; ring.
by rewrite -[X in _ <= X]e; apply: ler_add; apply: ler_wpmul2l; rewrite ?subr_ge0.
Qed.

(* The two ends of a piece imply the optimality conditions. *)
Lemma piece_saddle s b h : 0 < h -> (forall i, i \in S -> c b i = 0) ->
  subgradient S s b -> subgradient S (fun i => s i + h * c b i) b -> saddle X y S s b.
Proof.
move=> h0 on sb sb'; split=> // i iS; have [s1 at_s] := sb i iS; have [s1' at_s'] := sb' i iS.
split=> [bi|si].
  have /eqP := at_s' bi; rewrite at_s // -subr_eq0 addrC addrA addNr add0r mulf_eq0 gt_eqF //=.
  by move/eqP.
rewrite -(pmulr_rle0 _ h0).
have ss : s i * s i = 1 by rewrite -expr2 -real_normK ?num_real // si expr1n.
have : s i * (s i + h * c b i) <= 1 by apply: le_trans (ler_norm _) _; rewrite normrM si mul1r.
by rewrite mulrDr ss ger_addl mulrCA.
Qed.

(* They imply that a piece begins. *)
Lemma saddle_lasts s b : saddle X y S s b ->
  exists2 h, 0 < h & subgradient S (fun i => s i + h * c b i) b.
Proof.
case=> on sb kkt.
pose P i t := i \notin S -> `|s i + t * c b i| <= 1 /\ (b i 0 != 0 -> s i + t * c b i = Num.sg (b i 0)).
have [i|h h0 H] := @small R _ P _; last by exists h => // i; apply: (H h) => //; exact: ltW.
case: (boolP (i \in S)) => iS; first by exists 1; rewrite ?ltr01 // => t _ _; rewrite /P iS.
have [s1 at_s] := sb i iS; have [zero sign] := kkt i iS.
have [b0|bi] := eqVneq (b i 0) 0; last first.
  by exists 1; rewrite ?ltr01 // => t _ _ _; rewrite zero // mulr0 addr0.
have c1 : 0 < `|c b i| + 1 by rewrite ltr_spaddr ?ltr01.
move: s1; rewrite le_eqVlt => /orP[/eqP s1|s1]; last first.
  exists ((1 - `|s i|) / (`|c b i| + 1)); first by rewrite divr_gt0 ?subr_gt0.
  move=> t t0; rewrite ler_pdivl_mulr // => th _; rewrite b0 eqxx; split=> //.
  apply: le_trans (ler_norm_add _ _) _; rewrite -ler_subr_addl normrM (ger0_norm t0).
  by apply: le_trans th; rewrite ler_wpmul2l // ler_addl.
exists (`|c b i| + 1)^-1; first by rewrite invr_gt0.
move=> t t0; rewrite -[_^-1]mul1r ler_pdivl_mulr // => th _; rewrite b0 eqxx; split=> //.
have ss : s i * s i = 1 by rewrite -expr2 -real_normK ?num_real // s1 expr1n.
have -> : `|s i + t * c b i| = `|1 + t * (s i * c b i)|.
  by rewrite -[LHS]mul1r -{1}s1 -normrM mulrDr ss mulrCA.
have tc : - 1 <= t * (s i * c b i) <= 0.
  rewrite mulr_ge0_le0 ?sign // andbT ler_oppl -mulrN; apply: le_trans th; apply: ler_wpmul2l => //.
  apply: le_trans (ler_norm _) _; rewrite normrN normrM s1 mul1r ler_addl //.
by case/andP: tc => tc1 tc2; rewrite ger0_norm -?ler_subl_addl ?sub0r // ger_addl.
Qed.

Lemma saddle_growth s b b' : saddle X y S s b -> on_face S s b' ->
  sq (y - X *m b) + sq (X *m (b' - b)) <= sq (y - X *m b').
Proof.
case=> on sb kkt face; have -> : y - X *m b' = (y - X *m b) - X *m (b' - b).
  by rewrite mulmxBr opprB addrA subrK.
set u := y - X *m b in on kkt *; rewrite (sqB u); apply: (@le_by _ (- (2%:R * dot u (X *m (b' - b))))); last first.
  move: (sq u) (sq _) (dot _ _) => p q e; to_ring R; ring.
rewrite oppr_ge0 pmulr_rle0 ?ltr0n // dot_mul -oppr_ge0 -sumrN; apply: sumr_ge0 => i _.
rewrite oppr_ge0.
case: (boolP (i \in S)) => iS; first by rewrite on // mulr0.
have [s1 at_s] := sb i iS; have [zero sign] := kkt i iS; have [pos off] := face i iS.
have [bi|bi] := eqVneq (b i 0) 0; last by rewrite zero // mulr0.
rewrite !mxE bi subr0; move: s1; rewrite le_eqVlt => /orP[/eqP s1|/off->]; last by rewrite mul0r.
have ss : s i * s i = 1 by rewrite -expr2 -real_normK ?num_real // s1 expr1n.
rewrite -[_ * _]mul1r -ss mulrACA; exact: mulr_ge0_le0 pos (sign s1).
Qed.

Lemma subgradient_face s b : subgradient S s b -> on_face S s b.
Proof.
move=> sb i iS; have [s1 at_s] := sb i iS.
have [->|bi] := eqVneq (b i 0) 0; first by rewrite mulr0.
by rewrite at_s // mulrr_sg sg_norm1 // ltxx.
Qed.

Lemma face_subgradient s b : (forall i, i \notin S -> `|s i| <= 1) -> on_face S s b -> subgradient S s b.
Proof.
move=> s1 face i iS; split; first exact: s1.
have [pos off] := face i iS; move=> bi; apply: sg_unit => //.
by apply/eqP; rewrite eq_le s1 // leNgt; apply: contraNN bi => /off->.
Qed.

(* Least squares on the face: the optimality conditions are necessary and sufficient. *)
Theorem saddleP s b : (forall i, i \notin S -> `|s i| <= 1) ->
  saddle X y S s b <->
  on_face S s b /\ forall b', on_face S s b' -> sq (y - X *m b) <= sq (y - X *m b').
Proof.
move=> s1; split=> [sad|[face min]].
  split; first by case: sad => _ /subgradient_face.
  by move=> b' face; apply: le_trans (saddle_growth sad face); rewrite ler_addl sq_ge0.
have sb := face_subgradient s1 face.
have a0 i : 0 <= 2%:R^-1 * sq (col i X) by rewrite mulr_ge0 ?sq_ge0 // invr_ge0 ler0n.
have along i t : on_face S s (b + t *: delta_mx i 0) ->
    0 <= 2%:R^-1 * sq (col i X) * t ^+ 2 - t * c b i.
  move/min => le; have := objective_along X y S 0 b i t.
  rewrite /objective !mul0r !addr0 -mulrBr => <-.
  by rewrite mulr_ge0 ?subr_ge0 // invr_ge0 ler0n.
have both i m : 0 < m -> (forall t, `|t| <= m -> on_face S s (b + t *: delta_mx i 0)) -> c b i = 0.
  move=> m0 H; apply/eqP; rewrite eq_le; apply/andP; split.
    apply: (first_order (a0 i) m0) => t t0 tm; apply: along; apply: H.
    by rewrite ger0_norm // ltW.
  rewrite -oppr_le0; apply: (first_order (a0 i) m0) => t t0 tm.
  have := along i (- t); rewrite sqrrN mulNr mulrN; apply; apply: H.
  by rewrite normrN ger0_norm // ltW.
have step i t : (i \in S) || (`|s i| == 1) && (0 <= s i * (b i 0 + t)) ->
    on_face S s (b + t *: delta_mx i 0).
  move=> ok j jS; rewrite !mxE; have [ji|ji] := eqVneq j i; last first.
    by rewrite mulr0 addr0; exact: face.
  move: ok; rewrite -ji (negbTE jS) /= mulr1 => /andP[/eqP s1' pos].
  by rewrite s1' ltxx.
split=> // [i iS|i iS].
  by apply: (both i 1 ltr01) => t _; apply: step; rewrite iS.
split=> [bi|si].
  have [_ at_s] := sb i iS; apply: (both i `|b i 0|); first by rewrite normr_gt0.
  move=> t tb; apply: step; rewrite (negbTE iS) at_s // sg_norm1 // eqxx /=.
  rewrite mulrDr mulrr_sg -ler_subl_addl sub0r ler_oppl; apply: le_trans tb.
  by apply: le_trans (ler_norm _) _; rewrite normrN normrM sg_norm1 // mul1r.
have ss : s i * s i = 1 by rewrite -expr2 -real_normK ?num_real // si expr1n.
apply: (first_order (a0 i) ltr01) => t t0 _.
have := along i (t * s i); rewrite exprMn -[s i ^+ 2]/(s i * s i) ss mulr1 -(mulrA t); apply.
apply: step; rewrite (negbTE iS) si eqxx /= mulrDr mulrCA ss mulr1.
by have [pos _] := face i iS; rewrite addr_ge0 // ltW.
Qed.

Lemma saddles_fit s b b' : saddle X y S s b -> saddle X y S s b' -> X *m b = X *m b'.
Proof.
move=> sad sad'; have [_ /subgradient_face face _] := sad; have [_ /subgradient_face face' _] := sad'.
have le1 := saddle_growth sad face'; have le2 := saddle_growth sad' face.
have : sq (X *m (b' - b)) == 0.
  rewrite eq_le sq_ge0 andbT -(ler_add2l (sq (y - X *m b))) addr0.
  by apply: le_trans le1 _; apply: le_trans le2; rewrite ler_addl sq_ge0.
by rewrite sq_eq0 mulmxBr subr_eq0 => /eqP.
Qed.

(* w proves that i is zero in every saddle of s. *)
Lemma saddle_zero s b b' (w : 'cV[R]_n) i : saddle X y S s b -> saddle X y S s b' ->
  (forall j, (j \in S) || (b j 0 != 0) -> corr X w j = 0) ->
  (forall j, j \notin S -> `|s j| = 1 -> c b j = 0 -> 0 <= s j * corr X w j) ->
  i \notin S -> 0 < s i * corr X w i -> b' i 0 = 0.
Proof.
move=> sad sad' orth pos iS wi; have E := saddles_fit sad sad'; have [_ sb' kkt'] := sad'.
have term j : 0 <= (b' - b) j 0 * corr X w j.
  have [/orth->|] := boolP ((j \in S) || (b j 0 != 0)); first by rewrite mulr0.
  rewrite negb_or negbK => /andP[jS /eqP bj]; rewrite mxE [(- b) j 0]mxE bj subr0.
  have [->|bj'] := eqVneq (b' j 0) 0; first by rewrite mul0r.
  have [_ /(_ bj') sj] := sb' j jS; have [/(_ bj') cj _] := kkt' j jS.
  by rewrite -(sgr_mul_norm (b' j 0)) -sj mulrAC mulr_ge0 // pos ?E // sj sg_norm1.
have : \sum_j (b' - b) j 0 * corr X w j == 0 by rewrite -dot_mul mulmxBr E subrr dot0r.
rewrite psumr_eq0 => [/allP/(_ i (mem_index_enum _))|j _]; last exact: term.
have wi0 : corr X w i != 0 by apply: contraTneq wi => ->; rewrite mulr0 ltxx.
rewrite /= mulf_eq0 (negbTE wi0) orbF mxE [(- b) i 0]mxE subr_eq0 => /eqP->.
by apply/eqP; apply: contraNT wi0 => bi; rewrite orth // bi orbT.
Qed.

(* The saddles of s are a convex set. *)
Lemma saddle_union s b b' : saddle X y S s b -> saddle X y S s b' ->
  exists2 b'', saddle X y S s b'' &
    forall i, i \notin S -> b'' i 0 != 0 <-> b i 0 != 0 \/ b' i 0 != 0.
Proof.
move=> sad sad'; have E := saddles_fit sad sad'.
have Xb : X *m (2%:R^-1 *: (b + b')) = X *m b.
  by rewrite -scalemxAr mulmxDr -E -mulr2n -scaler_nat scalerA mulVf ?scale1r ?pnatr_eq0.
have nz i : i \notin S -> (2%:R^-1 *: (b + b')) i 0 != 0 <-> b i 0 != 0 \/ b' i 0 != 0.
  move=> iS; rewrite !mxE mulf_eq0 invr_eq0 pnatr_eq0 /=.
  have [_ sb _] := sad; have [_ sb' _] := sad'.
  have [_ at_s] := sb i iS; have [_ at_s'] := sb' i iS.
  have [b0|bi] := eqVneq (b i 0) 0; first by rewrite b0 add0r; split=> [|[]] //; right.
  split=> _; first by left.
  have [b0'|bi'] := eqVneq (b' i 0) 0; first by rewrite b0' addr0.
  rewrite -(sgr_mul_norm (b i 0)) -(sgr_mul_norm (b' i 0)) -at_s // -at_s' // -mulrDr mulf_neq0 //.
    by rewrite at_s // sgr_eq0.
  by rewrite gt_eqF // addr_gt0 ?normr_gt0.
exists (2%:R^-1 *: (b + b')) => //; have [on sb kkt] := sad; have [on' sb' kkt'] := sad'.
split=> [i iS|i iS|i iS]; rewrite ?Xb; first exact: on.
  have [s1 at_s] := sb i iS; have [_ at_s'] := sb' i iS; split=> //; move=> bi.
  have [_ off] := subgradient_face sb iS; have [_ off'] := subgradient_face sb' iS.
  have [pos _] := subgradient_face sb iS; have [pos' _] := subgradient_face sb' iS.
  apply: sg_unit => //; last by rewrite !mxE mulrCA mulr_ge0 ?invr_ge0 ?ler0n // mulrDr addr_ge0.
  by have [b1|b1] := (nz i iS).1 bi; [rewrite at_s // sg_norm1 | rewrite at_s' // sg_norm1].
have [zero sign] := kkt i iS; split=> // /(nz i iS)[/zero //|b1].
by have [zero' _] := kkt' i iS; rewrite E zero'.
Qed.
End Saddles.

Section Pieces.
Variables (n d : nat) (X : 'M[R]_(n, d)) (y : 'cV[R]_n) (S : {set 'I_d}).
Variables (tau : nat -> R) (b : nat -> 'cV[R]_d) (m : nat).
Implicit Types (i : 'I_d) (t : R).
Notation c k i := (corr X (y - X *m b k) i).
Notation state := (state X y tau b).
Notation state_at := (state_at X y tau b).
Notation in_piece := (in_piece tau m).

Lemma state_start k i : state_at k (tau k) i = state k i.
Proof. by rewrite /state_at subrr mul0r addr0. Qed.

Lemma state_end k i : state_at k (tau k.+1) i = state k.+1 i.
Proof. by []. Qed.

Lemma state_line k t t' i : state_at k t' i - state_at k t i = (t' - t) * c k i.
Proof. by rewrite /state_at; move: (c k i) (state k i) (tau k) => p q e; to_ring R; ring. Qed.
Section Increasing.
Hypothesis tau0 : tau 0%N = 0.
Hypothesis increasing : forall k, (k < m)%N -> tau k < tau k.+1.

Lemma time_gt0 k : (0 < k)%N -> (k <= m)%N -> 0 < tau k.
Proof.
elim: k => // -[|k] IH _ km; first by rewrite -tau0 increasing.
by apply: lt_trans (IH _ _) (increasing km) => //; exact: ltnW.
Qed.

Lemma time_ge0 k : (k <= m)%N -> 0 <= tau k.
Proof. by case: k => [|k] km; [rewrite tau0 | rewrite ltW // time_gt0]. Qed.

Lemma time_le l k : (l <= k)%N -> (k <= m)%N -> tau l <= tau k.
Proof.
elim: k => [|k IH]; first by rewrite leqn0 => /eqP->.
rewrite leq_eqVlt => /orP[/eqP-> //|lk] km; apply: le_trans (ltW (increasing km)).
by apply: IH => //; exact: ltnW.
Qed.

Lemma start_in_piece k : (k < m)%N -> in_piece k (tau k).
Proof. by move=> km; rewrite /in_piece km lexx ltW // increasing. Qed.

Lemma end_in_piece k : (k < m)%N -> in_piece k (tau k.+1).
Proof. by move=> km; rewrite /in_piece km lexx ltW // increasing. Qed.

Lemma in_piece_ge0 k t : in_piece k t -> 0 <= t.
Proof. by case/and3P=> km le _; apply: le_trans le; rewrite time_ge0 // ltnW. Qed.
End Increasing.

Hypothesis fl : flow X y S tau b m.
Let tau0 : tau 0%N = 0. Proof. by case: fl. Qed.
Let increasing k : (k < m)%N -> tau k < tau k.+1. Proof. by case: fl => _ H /H[]. Qed.

Lemma corr_on k i : (k < m)%N -> i \in S -> c k i = 0.
Proof. by case: fl => _ H /H[_ on _ _] /on. Qed.

Lemma state_on k i : (k <= m)%N -> i \in S -> state k i = 0.
Proof. by move=> km iS; elim: k km => //= k IH km; rewrite IH ?corr_on ?mulr0 ?addr0 // ltnW. Qed.

Lemma state_at_on k t i : (k < m)%N -> i \in S -> state_at k t i = 0.
Proof. by move=> km iS; rewrite /state_at state_on ?corr_on ?mulr0 ?addr0 // ltnW. Qed.

Lemma subgradient_at k t : in_piece k t -> subgradient S (state_at k t) (b k).
Proof.
case/and3P=> km start stop; case: fl => _ /(_ k km)[lt _ sb sb'].
by apply: subgradient_between sb sb'; rewrite ?subr_ge0 // ler_add2r.
Qed.

(* Each piece has the least squares coefficients of the face of s. *)
Theorem piece_is_saddle k t : in_piece k t -> t < tau k.+1 -> saddle X y S (state_at k t) (b k).
Proof.
move=> pk lt; have [km _ _] := and3P pk.
apply: (@piece_saddle _ _ _ _ _ _ _ (tau k.+1 - t)) (subgradient_at pk) _ => [|i iS|].
- by rewrite subr_gt0.
- exact: corr_on.
have := subgradient_at (end_in_piece increasing km).
by move=> H i /H; rewrite -(state_line k t (tau k.+1) i) [_ + (_ - _)]addrC subrK.
Qed.
End Pieces.

(* s and Xb are unique: -<s - s', b - b'> is the derivative of |q - q'|²/2, where s = X'q, and it is not positive. *)
Section Uniqueness.
Variables (n d : nat) (X : 'M[R]_(n, d)) (y : 'cV[R]_n) (S : {set 'I_d}).
Implicit Types (i : 'I_d) (t : R).

Lemma subgradient_monotone (s s' : 'I_d -> R) (b b' : 'cV[R]_d) i : subgradient S s b -> subgradient S s' b' ->
  i \notin S -> 0 <= (s i - s' i) * (b i 0 - b' i 0).
Proof.
move=> sb sb' iS; have [s1 at_s] := sb i iS; have [s1' at_s'] := sb' i iS.
have own (u : 'I_d -> R) (v : 'cV[R]_d) : (v i 0 != 0 -> u i = Num.sg (v i 0)) -> u i * v i 0 = `|v i 0|.
  by have [-> _|v0 ->] := eqVneq (v i 0) 0; rewrite ?mulr0 ?normr0 // mulrr_sg.
have le (x z : R) : `|x| <= 1 -> 0 <= `|z| - x * z.
  move=> x1; rewrite subr_ge0; apply: le_trans (ler_norm _) _; rewrite normrM -[X in _ <= X]mul1r.
  exact: ler_wpmul2r.
have -> : (s i - s' i) * (b i 0 - b' i 0) = (`|b i 0| - s' i * b i 0) + (`|b' i 0| - s i * b' i 0).
  rewrite -(own s b at_s) -(own s' b' at_s'); move: (s i) (s' i) (b i 0) (b' i 0) => p q u v.
  by to_ring R; ring.
by rewrite addr_ge0 // le.
Qed.

Section TwoFlows.
Variables (tau tau' : nat -> R) (b b' : nat -> 'cV[R]_d) (m m' : nat).
Hypotheses (fl : flow X y S tau b m) (fl' : flow X y S tau' b' m').
Let tau0 : tau 0%N = 0. Proof. by case: fl. Qed.
Let tau0' : tau' 0%N = 0. Proof. by case: fl'. Qed.
Let increasing k : (k < m)%N -> tau k < tau k.+1. Proof. by case: fl => _ H /H[]. Qed.
Let increasing' k : (k < m')%N -> tau' k < tau' k.+1. Proof. by case: fl' => _ H /H[]. Qed.
Notation s := (state_at X y tau b).
Notation s' := (state_at X y tau' b').

Lemma fit_from_state k k' a t : in_piece tau m k t -> in_piece tau' m' k' t -> a < t ->
  (forall i, s k a i = s' k' a i) -> X *m b k = X *m b' k'.
Proof.
move=> pk pk' lt same; have [km _ _] := and3P pk; have [km' _ _] := and3P pk'.
have gap i : s k t i - s' k' t i = - (t - a) * corr X (X *m (b k - b' k')) i.
  have := state_line X y tau b k a t i; have := state_line X y tau' b' k' a t i.
  rewrite same mulmxBr !corrB => /eqP; rewrite subr_eq => /eqP-> /eqP; rewrite subr_eq => /eqP->.
  move: (corr X y i) (corr _ _ _) (corr _ _ _) (s' _ _ _) => p q u v; to_ring R; ring.
have : 0 <= \sum_i (b k - b' k') i 0 * (s k t i - s' k' t i).
  apply: sumr_ge0 => i _; case: (boolP (i \in S)) => iS.
    by rewrite (state_at_on fl) // (state_at_on fl') // subrr mulr0.
  rewrite mulrC [(b k - b' k') i 0]mxE [(- b' k') i 0]mxE.
  exact: subgradient_monotone (subgradient_at fl pk) (subgradient_at fl' pk') iS.
under eq_bigr do rewrite gap mulrCA.
rewrite -mulr_sumr -dot_mul mulNr oppr_ge0 pmulr_rle0 ?subr_gt0 // => le0.
have : sq (X *m (b k - b' k')) == 0 by rewrite eq_le sq_ge0 andbT.
by rewrite sq_eq0 mulmxBr subr_eq0 => /eqP.
Qed.

Lemma state_from_state k k' a t : in_piece tau m k t -> in_piece tau' m' k' t -> a <= t ->
  (forall i, s k a i = s' k' a i) -> forall i, s k t i = s' k' t i.
Proof.
move=> pk pk'; rewrite le_eqVlt => /orP[/eqP<- //|lt] same i.
have E := fit_from_state pk pk' lt same.
apply/eqP; rewrite -subr_eq0 -(subrK (s k a i) (s k t i)) -(subrK (s' k' a i) (s' k' t i)) !state_line.
by rewrite E same subrr.
Qed.

Theorem same_state k k' t : in_piece tau m k t -> in_piece tau' m' k' t -> forall i, s k t i = s' k' t i.
Proof.
have [p le_p] : exists p, (k + k' <= p)%N by exists (k + k')%N.
elim: p k k' t le_p => [|p IH] k k' t le_p pk pk'.
  move: le_p; rewrite leqn0 addn_eq0 => /andP[/eqP k0 /eqP k0'].
  rewrite k0 k0' in pk pk' *; apply: (state_from_state pk pk' (in_piece_ge0 tau0 increasing pk)).
  by move=> i; rewrite /state_at /= tau0 tau0' !subr0 !mul0r.
have [km start _] := and3P pk; have [km' start' stop'] := and3P pk'.
have [_ _ stop] := and3P pk.
have [le|lt] := leP (tau' k') (tau k).
  have pa : in_piece tau' m' k' (tau k) by rewrite /in_piece km' le (le_trans start stop').
  case: k km start stop pk le_p le pa => [|k] km start stop pk le_p le pa.
    case: k' km' start' stop' pk' le_p le pa => [|k'] km' start' stop' pk' le_p le pa.
      by apply: (IH 0%N 0%N).
    by have := time_gt0 tau0' increasing' (ltn0Sn k') (ltnW km'); rewrite ltNge -{1}tau0 le.
  apply: (state_from_state pk pk' start) => i; rewrite state_start -state_end.
  by apply: IH => //; apply: (end_in_piece increasing); exact: ltnW.
have pa : in_piece tau m k (tau' k') by rewrite /in_piece km (ltW lt) (le_trans start' stop).
case: k' km' start' stop' pk' le_p lt pa => [|k'] km' start' stop' pk' le_p lt pa.
  by have := time_ge0 tau0 increasing (ltnW km); rewrite leNgt -tau0' lt.
apply: (state_from_state pk pk' start') => i; rewrite state_start -[RHS]state_end.
by apply: IH => //; [rewrite -ltnS -addnS | apply: (end_in_piece increasing'); exact: ltnW].
Qed.

Theorem same_fit k k' a t : in_piece tau m k a -> in_piece tau' m' k' a ->
  in_piece tau m k t -> in_piece tau' m' k' t -> a < t -> X *m b k = X *m b' k'.
Proof. by move=> pa pa' pk pk' lt; exact: fit_from_state pk pk' lt (same_state pa pa'). Qed.
End TwoFlows.
End Uniqueness.
End Flow.
