(* A sufficient condition for the first k events of the flow to be the first k picks of OMP, in order.

   Let rho_t bound the correlations of the other features, in units of the largest, at step t of OMP. Let a_t bound
   |s_j| over the features that are not picked after event t. The pick arrives after h = (1 - s_i sign c_i)/|c_i|, so
   h|c_i| <= 1 + a_t, and another |s_j| grows by at most rho_t (1 + a_t). So 1 + a_t is the product of the 1 + rho. *)
From mathcomp Require Import all_ssreflect all_algebra.
From sparselin Require Import ordered_field inner_product lasso residual existence window active runs flow.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.POrderTheory Order.TotalTheory.
Local Open Scope ring_scope.

Section Agreement.
Variable R : realFieldType.
Add Field R_field : (ordered_field_field R).
Variables (n d : nat) (X : 'M[R]_(n, d)) (y : 'cV[R]_n) (S : {set 'I_d}).
Variables (p : nat -> 'I_d) (rho : nat -> R) (b : nat -> 'cV[R]_d) (k : nat).
Implicit Types (i j : 'I_d) (t l : nat).

Fixpoint picked t : {set 'I_d} := if t is l.+1 then p l |: picked l else S.
Notation c t i := (correlation X (picked t) y i).

(* The picks of OMP, and the ratio of the other correlations to the largest *)
Definition picks_with_ratios := forall t, (t < k)%N -> omp_step X y (picked t) (p t) /\
  forall j, j \notin picked t.+1 -> `|c t j| <= rho t * `|c t (p t)|.

(* Least squares on the picks so far, with the signs of the correlations when they were picked *)
Definition fits_with_signs := forall t, (t < k)%N ->
  [/\ zero_off (picked t) (b t), y - X *m b t = residual X (picked t) y &
      forall l, (l < t)%N -> b t (p l) 0 != 0 -> Num.sg (b t (p l) 0) = Num.sg (c l (p l))].

(* The time of event t, and s then *)
Fixpoint arrival t : R * ('I_d -> R) :=
  if t is l.+1 then
    let (tau, s) := arrival l in
    let h := (1 - s (p l) * Num.sg (c l (p l))) / `|c l (p l)| in (tau + h, fun i => s i + h * c l i)
  else (0, fun=> 0).

Hypotheses (picks : picks_with_ratios) (fits : fits_with_signs).
Hypotheses (rho_ge0 : forall t, (t < k)%N -> 0 <= rho t) (product : \prod_(t < k) (1 + rho t) < 2%:R).
Notation tau t := (arrival t).1.
Notation s t := (arrival t).2.
Notation growth t := (\prod_(l < t) (1 + rho l)).

Lemma growth_ge1 t : (t <= k)%N -> 1 <= growth t.
Proof.
elim: t => [|t IH] tk; first by rewrite big_ord0.
by rewrite big_ord_recr /= mulr_ege1 ?IH ?ler_addl ?rho_ge0 // ltnW.
Qed.

Lemma growth_le t u : (t <= u)%N -> (u <= k)%N -> growth t <= growth u.
Proof.
elim: u => [|u IH]; first by rewrite leqn0 => /eqP->.
rewrite leq_eqVlt => /orP[/eqP-> //|]; rewrite ltnS => tu uk; apply: le_trans (IH tu (ltnW uk)) _.
rewrite big_ord_recr /= ler_pemulr ?ler_addl ?rho_ge0 //.
by apply: le_trans ler01 _; apply: growth_ge1; exact: ltnW.
Qed.

Lemma growth_lt2 t : (t <= k)%N -> 1 <= growth t < 2%:R.
Proof. by move=> tk; rewrite growth_ge1 //=; apply: le_lt_trans product; exact: growth_le. Qed.

Lemma picked_memP t j : reflect (j \in S \/ exists2 l, (l < t)%N & j = p l) (j \in picked t).
Proof.
apply: (iffP idP).
  elim: t => [|t IH] /=; first by left.
  by rewrite in_setU1 => /orP[/eqP->|/IH[|[l lt ->]]]; [right; exists t | left | right; exists l => //; exact: ltnW].
case=> [jS|[l lt ->]].
  by elim: t => //= t IH; rewrite in_setU1 IH orbT.
elim: t lt => //= t IH; rewrite ltnS leq_eqVlt in_setU1 => /orP[/eqP->|/IH->]; by rewrite ?eqxx ?orbT.
Qed.

Lemma arrivals t : (t <= k)%N ->
  [/\ forall l, (l < t)%N -> s t (p l) = Num.sg (c l (p l)),
      forall j, j \notin picked t -> `|s t j| <= growth t - 1 &
      forall l, (l < t)%N -> tau l < tau l.+1].
Proof.
elim: t => [|t IH] tk; first by split=> // j _; rewrite big_ord0 subrr normr0.
have [at_s inside times] := IH (ltnW tk); have [[new [c0 max]] ratio] := picks tk.
have /andP[g1 g2] := growth_lt2 (ltnW tk); move: at_s inside times => /=.
case E: (arrival t) => [tau_t st] /= at_s inside times.
set i := p t in new c0 max ratio *; set h := _ / _.
have ci : c t i != 0 by rewrite -normr_gt0.
have le_i : `|st i * Num.sg (c t i)| <= growth t - 1 by rewrite normrM sg_norm1 // mulr1 inside.
have hc : h * `|c t i| = 1 - st i * Num.sg (c t i) by rewrite mulfVK // normr_eq0.
have h0 : 0 < h.
  rewrite divr_gt0 // subr_gt0; apply: le_lt_trans (ler_norm _) _; apply: le_lt_trans le_i _.
  by rewrite ltr_subl_addr.
split=> [l|j|l].
- rewrite ltnS leq_eqVlt => /orP[/eqP->|lt]; last first.
    rewrite at_s // (@correlation_on _ _ _ X y (picked t) (p l)) ?mulr0 ?addr0 //.
    by apply/picked_memP; right; exists l.
  by rewrite -/i -{1}[c t i]sgr_mul_norm mulrCA hc mulrBr mulr1 mulrCA -expr2 sqr_sg ci mulr1 addrC subrK.
- move=> jp; have := jp; rewrite /= in_setU1 negb_or => /andP[_ jt].
  apply: le_trans (ler_norm_add _ _) _; rewrite normrM (gtr0_norm h0) big_ord_recr /=.
  apply: (@le_trans _ _ ((growth t - 1) + h * (rho t * `|c t i|))).
    by apply: ler_add; [exact: inside | by rewrite ler_wpmul2l ?(ltW h0) // ratio].
  rewrite mulrCA hc; apply: (@le_by _ (rho t * (growth t - 1 + st i * Num.sg (c t i)))).
    rewrite mulr_ge0 ?rho_ge0 // -ler_subl_addl sub0r ler_oppl; apply: le_trans le_i.
    by rewrite -normrN; exact: ler_norm.
  move: (growth t) (rho t) (st i * _) => g e u; to_ring R; ring.
by rewrite ltnS leq_eqVlt => /orP[/eqP->|lt]; [rewrite E ltr_addl | exact: times].
Qed.

Lemma states t : (t <= k)%N -> forall i, state X y (fun t => tau t) b t i = s t i.
Proof.
elim: t => // t IH tk i; have [_ fit _] := fits tk; rewrite /= IH ?(ltnW tk) // fit.
by case: (arrival t) => tau_t st /=; rewrite [tau_t + _]addrC addrK.
Qed.

(* After event t, |s_j| = 1 for the first t picks, and for no other feature. *)
Theorem first_events : flow X y S (fun t => tau t) b k /\ forall t j, (t <= k)%N -> j \notin S ->
  `|state X y (fun t => tau t) b t j| = 1 <-> j \in picked t.
Proof.
have inside t j : (t <= k)%N -> j \notin picked t -> `|s t j| < 1.
  move=> tk jt; have [_ le _] := arrivals tk; apply: le_lt_trans (le j jt) _.
  by have /andP[_] := growth_lt2 tk; rewrite ltr_subl_addr.
have unit t l : (t <= k)%N -> (l < t)%N -> `|s t (p l)| = 1.
  move=> tk lt; have [-> // _ _] := arrivals tk; have [[_ [c0 _]] _] := picks (leq_trans lt tk).
  by rewrite sg_norm1 // -normr_gt0.
split=> [|t j tk jS]; last first.
  rewrite states //; split=> [e|/picked_memP[|[l lt ->]]]; [|by rewrite (negbTE jS) | exact: unit].
  by apply: contraT => /(inside _ _ tk); rewrite e ltxx.
split=> // t tk; have [b0 fit signs] := fits tk.
have [_ _ times] := arrivals tk.
have ends u : (t <= u)%N -> (u <= t.+1)%N -> subgradient S (state X y (fun t => tau t) b u) (b t).
  move=> tu ut j jS; have uk := leq_trans ut tk; rewrite states //.
  have [jt|jt] := boolP (j \in picked t).
    have [|[l lt e]] := picked_memP _ _ jt; first by rewrite (negbTE jS).
    have lu := leq_trans lt tu; rewrite {j}e in jS jt *; rewrite unit //; split=> // bl.
    by have [at_s _ _] := arrivals uk; rewrite at_s // signs.
  rewrite b0 // eqxx; split=> //; have [ju|/(inside _ _ uk)/ltW //] := boolP (j \in picked u).
  have [|[l lt ->]] := picked_memP _ _ ju; first by rewrite (negbTE jS).
  by rewrite unit.
split=> [|i iS||]; [exact: times | | exact: ends | exact: ends].
rewrite fit; apply: (@correlation_on _ _ _ X y (picked t)).
by apply/picked_memP; left.
Qed.
End Agreement.
