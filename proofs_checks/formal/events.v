(* The flow exists up to every time: each state has a saddle, a piece ends where a coordinate of s arrives at 1 or -1,
   and the squared error is smaller after this event. The error depends on the face alone, so no face comes twice. *)
From mathcomp Require Import all_ssreflect all_algebra.
From sparselin Require Import ordered_field inner_product lasso residual existence flow.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.POrderTheory Order.TotalTheory.
Local Open Scope ring_scope.

Section Events.
Variable R : realFieldType.
Add Field R_field : (ordered_field_field R).
Variables (n d : nat) (X : 'M[R]_(n, d)) (y : 'cV[R]_n) (S : {set 'I_d}).
Implicit Types (s : 'I_d -> R) (b : 'cV[R]_d) (i : 'I_d) (t h : R).
Notation c b i := (corr X (y - X *m b) i).
Notation error b := (sq (y - X *m b)).

(* Least squares on the face, by nonnegative least squares with the columns X and -X *)
Theorem saddle_exists s : (forall i, i \notin S -> `|s i| <= 1) -> exists b, saddle X y S s b.
Proof.
move=> s1.
pose A := [set k : 'I_(d + d) | match fintype.split k with
  | inl i => (i \in S) || (s i == 1) | inr i => (i \in S) || (s i == -1) end].
have inl_A i : (lshift d i \in A) = (i \in S) || (s i == 1) by rewrite inE (unsplitK (inl i)).
have inr_A i : (rshift d i \in A) = (i \in S) || (s i == -1) by rewrite inE (unsplitK (inr i)).
have q0 (k : 'I_(d + d)) : 0 <= (0 : 'cV[R]_(d + d)) k 0 by rewrite mxE.
have [x [x0 xA] min] := cone_minimiser (row_mx X (- X)) y q0 A.
pose p := usubmx x; pose m := dsubmx x.
have pE i : p i 0 = x (lshift d i) 0 by rewrite mxE.
have mE i : m i 0 = x (rshift d i) 0 by rewrite mxE.
have GE (u v : 'cV[R]_d) : cone_objective (row_mx X (- X)) y 0 (col_mx u v) = 2%:R^-1 * error (u - v).
  by rewrite /cone_objective dot0l addr0 mul_row_col mulNmx -mulmxBr.
exists (p - m); apply/(saddleP X y _ s1); split=> [i iS|b' face].
  rewrite mxE [(- m) i 0]mxE pE mE; have [e1|n1] := eqVneq (s i) 1.
    rewrite e1 normr1 ltxx [x (rshift _ _) _]xA ?subr0 ?mul1r //.
    by rewrite inr_A (negbTE iS) e1 /= -subr_eq0 opprK -mulr2n pnatr_eq0.
  have [e2|n2] := eqVneq (s i) (-1).
    rewrite e2 normrN1 ltxx [x (lshift _ _) _]xA ?sub0r ?mulN1r ?opprK //.
    by rewrite inl_A (negbTE iS) (negbTE n1).
  by rewrite !xA ?inl_A ?inr_A ?(negbTE iS) ?(negbTE n1) ?(negbTE n2) // subrr mulr0.
pose bp : 'cV[R]_d := \col_i Num.max (b' i 0) 0; pose bm : 'cV[R]_d := \col_i Num.max (- b' i 0) 0.
have parts : bp - bm = b'.
  apply/colP=> i; rewrite !mxE; case: (ltrgt0P (b' i 0)) => [bi|bi|->]; last by rewrite oppr0 maxxx subrr.
    by rewrite (max_r (ltW _)) ?oppr_lt0 // subr0.
  by rewrite (max_l (ltW _)) ?oppr_gt0 // sub0r opprK.
have half : (0 : R) < 2%:R^-1 by rewrite invr_gt0 ltr0n.
rewrite -(ler_pmul2l half) -[X in _ <= _ * error X]parts -!GE vsubmxK; apply: min; split=> [k|k].
  by rewrite mxE; case: (fintype.split k) => i; rewrite mxE le_maxr lexx orbT.
rewrite -(splitK k); case: (fintype.split k) => i /=; rewrite ?inl_A ?inr_A negb_or => /andP[iS si].
  rewrite col_mxEu mxE; apply/max_idPr; have [pos off] := face i iS; have := s1 i iS.
  rewrite le_eqVlt => /orP[/eqP n1|/off->] //.
  have e2 : s i = -1 by have := eqr_norm2 (s i) 1; rewrite n1 normr1 eqxx (negbTE si) /= => /esym/eqP.
  by move: pos; rewrite e2 mulN1r oppr_ge0.
rewrite col_mxEd mxE; apply/max_idPr; have [pos off] := face i iS; have := s1 i iS.
rewrite le_eqVlt => /orP[/eqP n1|/off->]; last by rewrite oppr0.
have e2 : s i = 1 by have := eqr_norm2 (s i) 1; rewrite n1 normr1 eqxx (negbTE si) orbF => /esym/eqP.
by move: pos; rewrite e2 mul1r oppr_le0.
Qed.

(* A piece lasts until T, or until a coordinate arrives and the error falls. *)
Lemma next_event s b T : 0 < T -> saddle X y S s b -> exists h,
  [/\ 0 < h, h <= T, subgradient S (fun i => s i + h * c b i) b &
    h = T \/ forall b', saddle X y S (fun i => s i + h * c b i) b' -> error b' < error b].
Proof.
move=> T0 [on sb kkt].
pose P i := (i \notin S) && (c b i != 0); pose f i := (1 - s i * Num.sg (c b i)) / `|c b i|.
have f_gt0 i : P i -> 0 < f i.
  case/andP=> iS ci; have [s1 _] := sb i iS; have [_ sign] := kkt i iS.
  rewrite divr_gt0 ?normr_gt0 // subr_gt0 lt_neqAle; apply/andP; split; last first.
    by apply: le_trans (ler_norm _) _; rewrite normrM sg_norm1 // mulr1.
  apply/eqP=> e; have si : s i = Num.sg (c b i).
    by rewrite -[LHS]mulr1 -[1](_ : Num.sg (c b i) * Num.sg (c b i) = 1) ?mulrA ?e ?mul1r // -expr2 sqr_sg ci.
  have := sign; rewrite si sg_norm1 // mulrr_sg => /(_ erefl).
  by rewrite leNgt normr_gt0 ci.
have reach h : 0 <= h -> (forall i, P i -> h <= f i) -> subgradient S (fun i => s i + h * c b i) b.
  move=> h0 hf i iS; have [s1 at_s] := sb i iS; have [zero _] := kkt i iS.
  have [c0|ci] := eqVneq (c b i) 0; first by rewrite c0 mulr0 addr0.
  split; last by move/zero/eqP; rewrite (negbTE ci).
  have := hf i; rewrite /P iS ci => /(_ isT); rewrite /f ler_pdivl_mulr ?normr_gt0 // => le.
  have -> : `|s i + h * c b i| = `|s i * Num.sg (c b i) + h * `|c b i| |.
    rewrite -[LHS]mulr1 -(sg_norm1 ci) -normrM mulrDl -mulrA [c b i * _]mulrC mulrr_sg //.
  rewrite ler_norml -[X in _ && X]ler_subr_addl le andbT.
  have : -1 <= s i * Num.sg (c b i).
    rewrite ler_oppl; apply: le_trans (ler_norm _) _.
    by rewrite normrN normrM sg_norm1 // mulr1.
  by move=> ge; apply: le_trans ge _; rewrite ler_addl mulr_ge0.
have [i0 Pi0|none] := pickP P; last first.
  exists T; split=> //; last by left.
  by apply: reach => [|i]; [exact: ltW | rewrite none].
case: (Order.TotalTheory.arg_minP (P := P) f Pi0) => i Pi least.
have [le|lt] := leP T (f i).
  exists T; split=> //; last by left.
  by apply: reach => [|j /least]; [exact: ltW | exact: le_trans].
have reached := reach _ (ltW (f_gt0 i Pi)) least; exists (f i); split=> //; [exact: f_gt0 | exact: ltW |].
right=> b' sad'; have growth := saddle_growth sad' (subgradient_face reached).
rewrite lt_neqAle (le_trans _ growth) ?ler_addl ?sq_ge0 // andbT; apply/eqP=> E.
have fit : X *m b = X *m b'.
  move: growth; rewrite E ger_addl => le0; apply/eqP; rewrite -subr_eq0 -mulmxBr -sq_eq0.
  by rewrite eq_le sq_ge0 andbT.
have [iS ci] := andP Pi; have [_ _ kkt'] := sad'; have [_ sign] := kkt' i iS.
have arrived : s i + f i * c b i = Num.sg (c b i).
  rewrite /f -{3}[c b i]sgr_mul_norm mulrCA mulfVK ?normr_eq0 // mulrBr mulr1 mulrCA -expr2 sqr_sg ci mulr1.
  by rewrite addrC subrK.
move: sign; rewrite -fit arrived sg_norm1 // mulrr_sg => /(_ erefl).
by rewrite leNgt normr_gt0 ci.
Qed.

(* The face of s, by where s is 1 and where it is -1 *)
Definition face s : {ffun 'I_d -> bool * bool} := [ffun i => (s i == 1, s i == -1)].

Lemma face_error s s' b b' : (forall i, i \notin S -> `|s i| <= 1) -> face s = face s' ->
  saddle X y S s b -> saddle X y S s' b' -> error b <= error b'.
Proof.
move=> s1 same sad sad'; have [_ min] := (saddleP X y _ s1).1 sad; apply: min.
have [_ sb' _] := sad'; move=> i iS; have [s1' _] := sb' i iS.
have [pos off] := subgradient_face sb' iS; have := congr1 (fun g : {ffun _} => g i) same.
rewrite !ffunE => -[e1 e2]; have unit (u : R) : (`|u| == 1) = (u == 1) || (u == -1).
  by have := eqr_norm2 u 1; rewrite normr1.
have e : (`|s i| == 1) = (`|s' i| == 1) by rewrite !unit e1 e2.
split; last first.
  by move=> lt; apply: off; rewrite lt_neqAle s1' andbT -e; move: lt; rewrite lt_neqAle => /andP[].
have [u1|u1] := eqVneq `|s' i| 1; last by rewrite off ?mulr0 // lt_neqAle u1.
suff -> : s i = s' i by [].
move: u1 => /eqP; rewrite unit => /orP[] u; first by rewrite (eqP u); apply/eqP; rewrite e1 u.
by rewrite (eqP u); apply/eqP; rewrite e2 u.
Qed.

(* One more piece *)
Lemma flow_longer tau (b : nat -> 'cV[R]_d) m p h : flow X y S tau b m -> 0 < h ->
  saddle X y S (state X y tau b m) p -> subgradient S (fun i => state X y tau b m i + h * c p i) p ->
  exists tau' (b' : nat -> 'cV[R]_d), [/\ flow X y S tau' b' m.+1, tau' m.+1 = tau m + h &
    forall i, state X y tau' b' m.+1 i = state X y tau b m i + h * c p i].
Proof.
move=> [t0 fl] h0 [on sb _] sb'.
pose tau' k := if (k <= m)%N then tau k else tau m + h; pose b' k := if (k < m)%N then b k else p.
have same k : (k <= m)%N -> forall i, state X y tau' b' k i = state X y tau b k i.
  elim: k => // k IH km i; rewrite /= IH ?(ltnW km) //.
  by rewrite /tau' /b' km (ltnW km).
have lastE i : state X y tau' b' m.+1 i = state X y tau b m i + h * c p i.
  by rewrite /= same // /tau' /b' ltnn leqnn [tau m + h]addrC addrK.
exists tau', b'; split=> //; last by rewrite /tau' ltnn.
split=> [|k]; first by rewrite /tau'.
rewrite ltnS leq_eqVlt => /orP[/eqP->|km].
  have -> : b' m = p by rewrite /b' ltnn.
  split=> // [|i iS|i iS]; first by rewrite /tau' leqnn ltnn ltr_addl.
    by rewrite same //; exact: sb.
  by rewrite lastE; exact: sb'.
have -> : b' k = b k by rewrite /b' km.
have [lt on' s1 s2] := fl k km; split=> // [|i iS|i iS]; first by rewrite /tau' km (ltnW km).
  by rewrite same ?(ltnW km) //; exact: s1.
by rewrite same //; exact: s2.
Qed.

Theorem flow_exists T : 0 < T -> exists m tau (b : nat -> 'cV[R]_d), flow X y S tau b m /\ tau m = T.
Proof.
move=> T0.
suff H N (V : {set {ffun 'I_d -> bool * bool}}) m tau (b : nat -> 'cV[R]_d) :
    (#|~: V| <= N)%N -> flow X y S tau b m -> tau m < T ->
    (forall i, i \notin S -> `|state X y tau b m i| <= 1) ->
    (forall s p q, face s \in V -> saddle X y S s p -> saddle X y S (state X y tau b m) q -> error q < error p) ->
    exists m tau (b : nat -> 'cV[R]_d), flow X y S tau b m /\ tau m = T.
  apply: (H _ set0 0%N (fun=> 0) (fun=> 0) (leqnn _)) => //.
  - by move=> i _; rewrite /= normr0 ler01.
  - by move=> s p q; rewrite inE.
elim: N V m tau b => [|N IH] V m tau b le_N fl lt s1 seen; have [p sad] := saddle_exists s1.
  have : face (state X y tau b m) \in V.
    move: le_N; rewrite leqn0 cards_eq0 => /eqP V0.
    by rewrite -[V]setCK V0 !inE.
  by move=> old; have := seen _ _ _ old sad sad; rewrite ltxx.
have [|h [h0 hT sb' next]] := @next_event _ _ (T - tau m) _ sad; first by rewrite subr_gt0.
have [tau' [b' [fl' te se]]] := flow_longer fl h0 sad sb'.
case: next => [hE|falls]; first by exists m.+1, tau', b'; rewrite te hE addrC subrK.
have [hE|ne] := eqVneq h (T - tau m); first by exists m.+1, tau', b'; rewrite te hE addrC subrK.
have new : face (state X y tau b m) \notin V.
  by apply/negP=> old; have := seen _ _ _ old sad sad; rewrite ltxx.
have sad_end q : saddle X y S (state X y tau' b' m.+1) q ->
    saddle X y S (fun i => state X y tau b m i + h * c p i) q.
  case=> on sb kkt; split=> // i iS; [have := sb i iS | have := kkt i iS]; by rewrite se.
apply: (IH (face (state X y tau b m) |: V) m.+1 tau' b') => //.
- rewrite -ltnS; apply: leq_trans le_N; apply: proper_card.
  by rewrite properE setCS subsetUr /= setCS subUset sub1set (negbTE new).
- by rewrite te -ltr_subr_addl lt_neqAle ne.
- by move=> i iS; rewrite se; have [] := sb' i iS.
move=> s q q' ; rewrite in_setU1 => /orP[/eqP same|old] sadq /sad_end/falls lt'.
  by apply: lt_le_trans lt' _; apply: face_error sad sadq.
by apply: lt_trans lt' _; exact: seen old sadq sad.
Qed.
End Events.
