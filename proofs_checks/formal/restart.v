(* The first event of the flow with S forced, at t = 1/lambda*, and the flow that restarts after each pick: the
   features that can be nonzero after the first event are the members of A(S), so the restarted flow picks what
   Sequential LASSO picks, and what OMP may pick. *)
From mathcomp Require Import all_ssreflect all_algebra.
From sparselin Require Import ordered_field inner_product lasso residual existence window active runs flow.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.POrderTheory Order.TotalTheory.
Local Open Scope ring_scope.

Section Restart.
Variable R : realFieldType.
Add Field R_field : (ordered_field_field R).

Section Definitions.
Variables (n d : nat) (X : 'M[R]_(n, d)) (y : 'cV[R]_n).
Implicit Types (S : {set 'I_d}) (i : 'I_d) (p : seq 'I_d).

(* i is among the features that are the first to be nonzero off S, in some flow. *)
Definition flow_step S i := i \notin S /\ exists m k tau (b : nat -> 'cV[R]_d),
  [/\ flow X y S tau b m, (k < m)%N, forall l, (l < k)%N -> zero_off S (b l) & b k i 0 != 0].

(* After each pick, the flow restarts with the pick forced. *)
Definition flow_run S p := run flow_step S p.

(* The matrix with the columns P_S^⊥X_i, and b without its entries in S *)
Definition residuals S : 'M[R]_(n, d) := \matrix_(k, i) residual X S (col i X) k 0.
Definition drop S (b : 'cV[R]_d) : 'cV[R]_d := \col_i (if i \in S then 0 else b i 0).
End Definitions.

Section Steps.
Variables (n d : nat) (X : 'M[R]_(n, d)) (y : 'cV[R]_n) (S : {set 'I_d}).
Implicit Types (i : 'I_d) (t : R).
Notation r := (residual X S y).
Notation c := (correlation X S y).
Notation L := (lambda_star X S y).
Notation T := (tied X S y).

(* The flow with S forced is the flow on P_S^⊥X, with nothing forced. *)
Theorem forced_is_projected tau b m : flow X y S tau b m ->
  flow (residuals X S) r set0 tau (fun k => drop S (b k)) m /\
  forall k t i, (k < m)%N ->
    state_at (residuals X S) r tau (fun k => drop S (b k)) k t i = state_at X y tau b k t i.
Proof.
case=> tau0 fl.
have colE i : col i (residuals X S) = residual X S (col i X) by apply/colP=> k; rewrite !mxE.
have fit k : (k < m)%N -> r - residuals X S *m drop S (b k) = y - X *m b k.
  move=> km; have [_ on _ _] := fl k km; have -> : residuals X S *m drop S (b k) = residual X S (X *m b k).
    rewrite mul_sum_col residual_mul; apply: eq_bigr => i _; rewrite colE mxE; case: ifP => // iS.
    rewrite col_mul residual_span ?scale0r ?scaler0 // => j jS.
    by rewrite mxE; case: eqVneq jS => // ->; rewrite iS.
  rewrite -(residual_id on) -scaleN1r -residual_scale -residual_add scaleN1r //.
have same k i : (k < m)%N ->
    corr (residuals X S) (r - residuals X S *m drop S (b k)) i = corr X (y - X *m b k) i.
  move=> km; have [_ on _ _] := fl k km; rewrite (fit k km) /corr colE.
  by rewrite -(corr_residual i on).
have states k i : (k <= m)%N ->
    state (residuals X S) r tau (fun k => drop S (b k)) k i = state X y tau b k i.
  by elim: k => //= k IH km; rewrite IH ?same // ltnW.
split=> [|k t i km]; last by rewrite /state_at states ?same // ltnW.
split=> // k km; have [lt on s1 s2] := fl k km.
have onS l i : (l <= m)%N -> i \in S -> state X y tau b l i = 0.
  by move=> lm iS; apply: (state_on (conj tau0 fl)).
have both l : (l <= m)%N -> subgradient S (state X y tau b l) (b k) ->
    subgradient set0 (state (residuals X S) r tau (fun k => drop S (b k)) l) (drop S (b k)).
  move=> lm sb i _; rewrite states // mxE; case: ifPn => iS; last exact: sb.
  by rewrite onS // normr0 ler01 eqxx.
by split=> // [i||]; [rewrite inE | apply: both; rewrite ?(ltnW km) | apply: both].
Qed.

Section First.
Variables (tau : nat -> R) (b : nat -> 'cV[R]_d) (m : nat).
Hypothesis fl : flow X y S tau b m.
Let tau0 : tau 0%N = 0. Proof. by case: fl. Qed.
Let increasing k : (k < m)%N -> tau k < tau k.+1. Proof. by case: fl => _ H /H[]. Qed.

Lemma fit_before k : (k < m)%N -> zero_off S (b k) -> y - X *m b k = r.
Proof. by move=> km b0; apply: zero_off_residual b0 _ => i; exact: (corr_on fl). Qed.

Lemma state_before k : (k <= m)%N -> (forall l, (l < k)%N -> zero_off S (b l)) ->
  forall i, state X y tau b k i = tau k * c i.
Proof.
elim: k => [|k IH] km before i; first by rewrite /= tau0 mul0r.
rewrite /= IH ?(ltnW km) // => [|l lk]; last by apply: before; exact: ltnW.
by rewrite fit_before //; [rewrite -mulrDl addrC subrK | exact: before].
Qed.

Section Event.
Variable k : nat.
Hypotheses (km : (k < m)%N) (before : forall l, (l < k)%N -> zero_off S (b l)) (event : ~ zero_off S (b k)).
Let stateE i : state X y tau b k i = tau k * c i.
Proof. by apply: state_before; rewrite ?(ltnW km). Qed.
Let sb : subgradient S (state X y tau b k) (b k). Proof. by case: fl => _ /(_ k km)[]. Qed.

Lemma event_time : 0 < L /\ tau k * L = 1.
Proof.
have [i /andP[iS bi]|none] := pickP (fun i => (i \notin S) && (b k i 0 != 0)); last first.
  by case: event => i iS; have := none i; rewrite iS /= => /negbFE/eqP.
have tk : 0 <= tau k by rewrite (time_ge0 tau0 increasing) // ltnW.
have [_ /(_ bi) si] := sb iS; have norm1 : tau k * `|c i| = 1.
  by rewrite -[tau k]ger0_norm // -normrM -stateE si sg_norm1.
have tk0 : 0 < tau k.
  by rewrite lt_neqAle tk andbT; apply: contra_eqN norm1 => /eqP <-; rewrite mul0r eq_sym oner_eq0.
have L1 : tau k * L <= 1.
  rewrite -ler_pdivl_mull // mulr1; apply: maximum_le => [|j jS]; first by rewrite invr_ge0.
  rewrite -[_^-1]mulr1 ler_pdivl_mull // -[X in X * _]ger0_norm // -normrM -stateE.
  by have [] := sb jS.
have L2 : 1 <= tau k * L by rewrite -norm1 ler_wpmul2l // le_lambda_star.
have E : tau k * L = 1 by apply/eqP; rewrite eq_le L1.
by split=> //; rewrite -(pmulr_rgt0 _ tk0) E ltr01.
Qed.

Lemma event_tied i : i \notin S -> `|state X y tau b k i| = 1 <-> i \in T.
Proof.
have [L0 tL] := event_time; have tk : 0 < tau k by rewrite -(pmulr_lgt0 _ L0) tL ltr01.
move=> iS; rewrite stateE normrM (gtr0_norm tk) -tL; split=> [/mulfI e|/tiedP[_ ->] //].
by apply/tiedP; split=> //; apply: e; rewrite gt_eqF.
Qed.

Lemma event_direction b0 : zero_off S b0 -> y - X *m b0 = r -> direction X y S (b k - b0).
Proof.
move=> b00 E; have [L0 tL] := event_time.
have tk : 0 < tau k by rewrite -(pmulr_lgt0 _ L0) tL ltr01.
have [on _ kkt] : saddle X y S (state X y tau b k) (b k).
  have := piece_is_saddle fl (start_in_piece increasing km) (increasing km).
  by case=> on sb' kkt; split=> // i iS; have := kkt i iS; rewrite state_start.
have corrE i : corr X (X *m (b k - b0)) i = c i - corr X (y - X *m b k) i.
  rewrite -corrB; congr (corr _ _ _); by rewrite mulmxBr -/r -E opprB [RHS]addrC addrA subrK.
split=> i iS; first by rewrite corrE on // subr0 [LHS]correlation_on.
have [zero sign] := kkt i iS; have [_ at_s] := sb iS; rewrite corrE mxE [(- b0) i 0]mxE b00 // subr0.
split=> [bi|iT]; last first.
  have cc : c i * c i = L ^+ 2 by rewrite -expr2 -real_normK ?num_real //; case/tiedP: iT => _ ->.
  rewrite mulrBr cc ler_addl oppr_ge0 -(pmulr_rle0 _ tk) mulrA -stateE.
  by apply: sign; exact/(event_tied iS).
have si := at_s bi; split; last by rewrite zero // subr0.
  by apply/(event_tied iS); rewrite si sg_norm1.
by rewrite -(pmulr_rgt0 _ tk) mulrA -stateE si mulrr_sg normr_gt0.
Qed.

Lemma event_step i : i \notin S -> b k i 0 != 0 -> sequential_lasso_step X y S i.
Proof.
move=> iS bi; have [b0 b00 E] := fit_exists X y S; have [L0 _] := event_time.
by apply: (certified_step L0 (event_direction b00 E) iS _ b00 E); rewrite mxE [(- b0) i 0]mxE b00 // subr0.
Qed.
End Event.

(* Until 1/lambda*, s = tc. *)
Lemma zero_until k : (k < m)%N -> tau k * L < 1 -> forall l, (l <= k)%N -> zero_off S (b l).
Proof.
move=> km early; elim/ltn_ind=> l IH lk.
have [ok|] := boolP [forall i, (i \notin S) ==> (b l i 0 == 0)].
  by move=> i iS; have := forallP ok i; rewrite iS => /eqP.
rewrite negb_forall => /existsP[i]; rewrite negb_imply => /andP[iS bi].
have lm : (l < m)%N by apply: leq_ltn_trans km.
have [L0 E] : 0 < L /\ tau l * L = 1.
  apply: event_time => // [p pl|z]; first by apply: IH => //; apply: ltnW (leq_trans pl lk).
  by move: bi; rewrite z // eqxx.
have := time_le increasing lk (ltnW km).
by rewrite -(ler_pmul2r L0) E leNgt early.
Qed.

Theorem state_until k t i : in_piece tau m k t -> t * L <= 1 -> state_at X y tau b k t i = t * c i.
Proof.
move=> /and3P[km start _] early; have L0 := lambda_star_ge0 X y S.
have := le_trans (ler_wpmul2r L0 start) early; rewrite le_eqVlt => /orP[/eqP tL|lt]; last first.
  have z := zero_until km lt; rewrite /state_at state_before ?(ltnW km) // => [|l lk]; last first.
    by apply: z; exact: ltnW.
  by rewrite (fit_before km (z k (leqnn k))) -mulrDl addrC subrK.
have Lp : 0 < L by rewrite lt_neqAle L0 andbT; apply: contra_eqN tL => /eqP<-; rewrite mulr0 eq_sym oner_eq0.
have -> : t = tau k by apply/eqP; rewrite eq_le start andbT -(ler_pmul2r Lp) tL.
rewrite state_start state_before ?(ltnW km) // => l lk.
case: k km start tL lk => // k km start tL; rewrite ltnS; apply: zero_until; first exact: ltnW.
by rewrite -tL ltr_pmul2r // increasing // ltnW.
Qed.
End First.

Section Begins.
Hypothesis L_gt0 : 0 < L.
Notation s := (fun i => L^-1 * c i).

Lemma direction_saddle b0 delta : zero_off S b0 -> y - X *m b0 = r -> direction X y S delta ->
  saddle X y S s (b0 + delta).
Proof.
move=> b00 E [on off].
have corrE i : corr X (y - X *m (b0 + delta)) i = c i - corr X (X *m delta) i.
  by rewrite mulmxDr opprD addrA E corrB.
have norm_s i : i \notin S -> `|L^-1 * c i| <= 1.
  move=> iS; rewrite normrM gtr0_norm ?invr_gt0 // mulrC ler_pdivr_mulr // mul1r.
  exact: le_lambda_star.
split=> i iS; rewrite ?corrE; first by rewrite on // subr0 correlation_on.
  have [nonzero _] := off i iS; rewrite mxE b00 // add0r; split=> [|di]; first exact: norm_s.
  have [/tiedP[_ cL] pos _] := nonzero di.
  apply: sg_unit => //; last by rewrite -mulrA mulr_ge0 ?invr_ge0 // ltW.
  by rewrite normrM gtr0_norm ?invr_gt0 // cL mulVf // gt_eqF.
have [nonzero at_T] := off i iS; rewrite mxE b00 // add0r; split=> [di|si].
  by have [_ _ ->] := nonzero di; rewrite subrr.
have cL : `|c i| = L.
  by move: si; rewrite normrM gtr0_norm ?invr_gt0 // => /(congr1 (fun x => L * x)); rewrite mulVKf ?gt_eqF // mulr1.
have iT : i \in T by apply/tiedP.
rewrite -mulrA pmulr_rle0 ?invr_gt0 // mulrBr subr_le0 -expr2 -real_normK ?num_real // cL.
exact: at_T.
Qed.

Lemma active_direction i : active X y S i -> exists2 delta, direction X y S delta & delta i 0 != 0.
Proof.
move=> act; have Mb := mean_bounds X y S; have [start lt] := midf_lt (window_start_lt Mb L_gt0).
move: (_ / _) start lt => lam start lt; have [iS _] := tiedP _ _ _ _ (active_tied act).
have [b min bi] := (active_nonzero L_gt0 Mb start lt iS).2 act; have [b0 b00 E] := fit_exists X y S.
exists ((1 - lam / L)^-1 *: (b - b0)); first exact: (minimiser_direction Mb L_gt0 start lt min b00 E).
rewrite mxE [(b - b0) i 0]mxE [(- b0) i 0]mxE b00 // subr0 mulf_neq0 // invr_eq0 gt_eqF //.
exact: tau_gt0.
Qed.

(* A saddle at 1/lambda* is the second piece of a flow. *)
Lemma saddle_flow b : saddle X y S s b -> exists tau (p : nat -> 'cV[R]_d),
  [/\ flow X y S tau p 2, zero_off S (p 0%N) & p 1%N = b].
Proof.
move=> sad; have [b0 b00 E] := fit_exists X y S; have [h h0 last] := saddle_lasts sad.
pose tau k : R := if k is l.+1 then L^-1 + l%:R * h else 0.
pose p k := if k is 0%N then b0 else b.
have t1 : tau 1%N = L^-1 by rewrite /tau mul0r addr0.
have t2 : tau 2%N - tau 1%N = h by rewrite t1 /tau mul1r addrC addKr.
have s1 i : state X y tau p 1 i = L^-1 * c i by rewrite /= E add0r mul0r addr0 subr0.
exists tau, p; split=> //; split=> // -[_|[_|//]].
  split=> [|i iS|i iS|i iS]; rewrite ?t1 ?invr_gt0 //; first by rewrite E; exact: correlation_on.
    by rewrite normr0 ler01 b00 // eqxx.
  rewrite s1 /= b00 // eqxx; split=> //; rewrite normrM gtr0_norm ?invr_gt0 // mulrC ler_pdivr_mulr // mul1r.
  exact: le_lambda_star.
have [on sb _] := sad; split=> // [|i iS|i iS]; first by rewrite -subr_gt0 t2.
  by rewrite s1; exact: sb.
rewrite -[state X y tau p 2 i]/(state X y tau p 1 i + (tau 2%N - tau 1%N) * corr X (y - X *m p 1%N) i).
by rewrite s1 t2; exact: last.
Qed.

(* Any members of A(S) are nonzero together after the first event of some flow. *)
Theorem event_is_wide (A : {set 'I_d}) : (forall i, i \in A -> active X y S i) ->
  exists tau (p : nat -> 'cV[R]_d), [/\ flow X y S tau p 2, zero_off S (p 0%N) &
    forall i, i \in A -> p 1%N i 0 != 0].
Proof.
move=> act; have [b0 b00 E] := fit_exists X y S.
have one i : active X y S i -> exists2 b, saddle X y S s b & b i 0 != 0.
  move=> acti; have [iS _] := tiedP _ _ _ _ (active_tied acti).
  have [delta dir di] := active_direction acti; exists (b0 + delta); first exact: direction_saddle.
  by rewrite mxE b00 // add0r.
suff [b sad nz] : exists2 b, saddle X y S s b & forall i, i \in enum A -> b i 0 != 0.
  have [tau [p [fl z e]]] := saddle_flow sad; exists tau, p; split=> // i iA.
  by rewrite e nz // mem_enum.
have : forall i, i \in enum A -> active X y S i by move=> i; rewrite mem_enum; exact: act.
elim: (enum A) => [_|i q IH actq].
  have [j actj] := active_exists L_gt0; have [b sad _] := one j actj; by exists b.
have [|b sad nz] := IH; first by move=> j jq; apply: actq; rewrite inE jq orbT.
have acti : active X y S i by apply: actq; rewrite mem_head.
have [b' sad' bi] := one i acti; have [b'' sad'' union] := saddle_union sad sad'.
exists b'' => // j; rewrite inE => /orP[/eqP->|jq].
  by have [iS _] := tiedP _ _ _ _ (active_tied acti); apply/(union i iS); right.
have [jS _] : j \notin S /\ True by split=> //; apply: (tiedP _ _ _ _ (active_tied (actq j _))).1; rewrite inE jq orbT.
by apply/(union j jS); left; exact: nz.
Qed.
End Begins.

(* The flow restarts with the pick forced: its pick is one of the first features that it makes nonzero. *)
Theorem flow_stepP i : flow_step X y S i <-> sequential_lasso_step X y S i.
Proof.
split=> [[iS [m [k [tau [b [fl km before bi]]]]]]|/sequential_lasso_stepP[L0 act]].
  by apply: (event_step fl km before) => // z; move: bi; rewrite z // eqxx.
have [iS _] := tiedP _ _ _ _ (active_tied act).
have [|tau [p [fl z nz]]] := event_is_wide L0 (A := [set i]); first by move=> j /set1P->.
split=> //; exists 2%N, 1%N, tau, p; split=> //; last by apply: nz; rewrite set11.
by case.
Qed.
End Steps.

Section Runs.
Variables (n d : nat) (X : 'M[R]_(n, d)) (y : 'cV[R]_n).

Theorem flow_runP S p : flow_run X y S p <-> sequential_lasso_run X y S p.
Proof.
elim: p S => //= i p IH S; have [to from] := flow_stepP X y S i; have [to' from'] := IH (i |: S).
by split=> -[step rest]; [split; [exact: to | exact: to'] | split; [exact: from | exact: from']].
Qed.
End Runs.
End Restart.
