(* The residual P_S^⊥v by its two properties, which determine it: it exists for every X, by Gram-Schmidt; lambda*
   and the tied features T; and the minimisers at lambda >= lambda* and below it. *)
From mathcomp Require Import all_ssreflect all_algebra.
From sparselin Require Import ordered_field inner_product lasso.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.POrderTheory Order.TotalTheory.
Local Open Scope ring_scope.

Section Maximum.
Variables (R : realFieldType) (I : finType) (P : pred I) (f : I -> R).
Definition maximum : R := \big[Num.max/0]_(i | P i) f i.

Lemma maximum_ge0 : 0 <= maximum.
Proof. by rewrite /maximum; elim/big_rec: _ => // i x _ x0; rewrite le_maxr x0 orbT. Qed.

Lemma le_maximum i : P i -> f i <= maximum.
Proof.
rewrite /maximum => Pi; elim: (index_enum I) (mem_index_enum i) => // j r IH.
rewrite inE big_cons => /orP[/eqP<-|ir]; first by rewrite Pi le_maxr lexx.
by case: ifP => _; rewrite ?le_maxr IH ?orbT.
Qed.

Lemma maximum_le m : 0 <= m -> (forall i, P i -> f i <= m) -> maximum <= m.
Proof. by move=> m0 H; rewrite /maximum; elim/big_rec: _ => // i x Pi xm; rewrite le_maxl xm H. Qed.

Lemma maximum_lt m : 0 < m -> (forall i, P i -> f i < m) -> maximum < m.
Proof. by move=> m0 H; rewrite /maximum; elim/big_rec: _ => // i x Pi xm; rewrite lt_maxl xm H. Qed.

Lemma maximum_attained : 0 < maximum -> exists2 i, P i & f i = maximum.
Proof.
rewrite {1}/maximum => pos.
have [|i Pi fi] : 0 < maximum /\ True -> exists2 i, P i & f i = maximum; last by exists i.
  move=> _; rewrite /maximum; move: pos; elim/big_rec: _ => [|i x Pi IH]; first by rewrite ltxx.
  rewrite lt_maxr => pos; have [le_x|lt_x] := leP (f i) x; last by exists i.
  have [|j Pj fj] := IH; last by exists j.
  by case/orP: pos => // fi0; apply: lt_le_trans le_x.
by [].
Qed.
End Maximum.

Section Residual.
Variable R : realFieldType.
Add Field R_field : (ordered_field_field R).

Section Definitions.
Variables (n d : nat) (X : 'M[R]_(n, d)) (S : {set 'I_d}).

(* r is orthogonal to the columns of S, and v - r in their span *)
Definition is_residual (v r : 'cV[R]_n) :=
  (forall i, i \in S -> corr X r i = 0) /\ exists2 b, zero_off S b & v - r = X *m b.

(* Gram-Schmidt; x/0 = 0 in a field of Mathematical Components. *)
Fixpoint reduce (s : seq 'I_d) (v : 'cV[R]_n) : 'cV[R]_n :=
  if s is i :: s' then
    let q := reduce s' (col i X) in reduce s' v - (dot q (reduce s' v) / sq q) *: q
  else v.

Definition residual (v : 'cV[R]_n) := reduce (enum S) v.

Variable y : 'cV[R]_n.
(* c = X'r *)
Definition correlation i : R := corr X (residual y) i.
Definition lambda_star : R := maximum (fun i => i \notin S) (fun i => `|correlation i|).
Definition tied : {set 'I_d} := [set i | (i \notin S) && (`|correlation i| == lambda_star)].

Definition least_squares_fit (b : 'cV[R]_d) :=
  zero_off S b /\ forall b', zero_off S b' -> sq (y - X *m b) <= sq (y - X *m b').
End Definitions.

Section Existence.
Variables (n d : nat) (X : 'M[R]_(n, d)).
Implicit Types (s : seq 'I_d) (S : {set 'I_d}) (v r w : 'cV[R]_n) (b : 'cV[R]_d).

Lemma dot_orthogonal w b : (forall i, corr X w i = 0 \/ b i 0 = 0) -> dot w (X *m b) = 0.
Proof. by move=> H; rewrite dot_mul big1 // => i _; case: (H i) => ->; rewrite ?mulr0 ?mul0r. Qed.

Lemma reduceP s v : (forall i, i \in s -> corr X (reduce X s v) i = 0) /\
  exists2 b : 'cV[R]_d, (forall i, i \notin s -> b i 0 = 0) & v - reduce X s v = X *m b.
Proof.
elim: s v => [|i s IH] v.
  by split=> //; exists 0 => [i _|]; rewrite ?mxE // subrr mulmx0.
have [q_s [bq bq0 Eq]] := IH (col i X); have [w_s [bw bw0 Ew]] := IH v.
rewrite /=; set q := reduce X s (col i X) in q_s Eq *; set w := reduce X s v in w_s Ew *.
set k := dot q w / sq q; split=> [j|].
  have on_s l : l \in s -> corr X (w - k *: q) l = 0.
    by move=> ls; rewrite corrB corrZ q_s // w_s // mulr0 subrr.
  rewrite inE => /orP[/eqP->|]; last exact: on_s.
  have Ei : col i X = q + X *m bq by rewrite -Eq addrC subrK.
  rewrite /corr Ei dotDl addrC dotC dot_orthogonal ?add0r; last first.
    by move=> l; case: (boolP (l \in s)) => ls; [left; exact: on_s | right; exact: bq0].
  rewrite dotBr dotZr -/(sq q); have [q0|q0] := eqVneq (sq q) 0.
    by move/eqP: q0; rewrite sq_eq0 => /eqP->; rewrite /sq !dot0l !mulr0 subrr.
  by rewrite /k mulfVK // subrr.
exists (bw + k *: (delta_mx i 0 - bq)) => [j|].
  rewrite inE negb_or => /andP[ji js].
  by rewrite !mxE bw0 // bq0 // (negbTE ji) subrr mulr0 addr0.
rewrite mulmxDr -scalemxAr mulmxBr -col_mul -Eq -Ew.
have -> : col i X - (col i X - q) = q by rewrite opprB addrC subrK.
by rewrite opprD opprK addrA.
Qed.

Theorem residual_exists S v : is_residual X S v (residual X S v).
Proof.
have [on [b b0 E]] := reduceP (enum S) v; split=> [i iS|]; first by rewrite on // mem_enum.
by exists b => // i iS; rewrite b0 // mem_enum.
Qed.

Theorem residual_unique S v r r' : is_residual X S v r -> is_residual X S v r' -> r = r'.
Proof.
move=> [r0 [b b0 E]] [r0' [b' b0' E']].
have D : r - r' = X *m (b' - b).
  by rewrite mulmxBr -E -E' opprB [RHS]addrC addrA subrK.
apply/eqP; rewrite -subr_eq0 -sq_eq0 /sq {2}D dot_orthogonal // => i.
case: (boolP (i \in S)) => iS; first by left; rewrite corrB r0 // r0' // subrr.
by right; rewrite !mxE b0 // b0' // subrr.
Qed.

Lemma residual_eq S v r : is_residual X S v r -> residual X S v = r.
Proof. by move=> H; apply: residual_unique (residual_exists S v) H. Qed.
End Existence.

Section Threshold.
Variables (n d : nat) (X : 'M[R]_(n, d)) (y : 'cV[R]_n) (S : {set 'I_d}).
Implicit Types (b : 'cV[R]_d) (lam : R) (i : 'I_d).
Notation r := (residual X S y).
Notation c := (correlation X S y).
Notation lambda_star := (lambda_star X S y).
Notation T := (tied X S y).

Lemma correlation_on i : i \in S -> c i = 0.
Proof. by case: (residual_exists X S y) => H _ /H. Qed.

Lemma le_lambda_star i : i \notin S -> `|c i| <= lambda_star.
Proof. exact: (@le_maximum R _ _ (fun i => `|c i|)). Qed.

Lemma lambda_star_ge0 : 0 <= lambda_star.
Proof. exact: maximum_ge0. Qed.

Lemma tiedP i : reflect (i \notin S /\ `|c i| = lambda_star) (i \in T).
Proof. by rewrite inE; apply: (iffP andP) => -[iS /eqP E]. Qed.

Lemma tied_exists : 0 < lambda_star -> exists i, i \in T.
Proof. by case/maximum_attained => i iS ci; exists i; apply/tiedP. Qed.

Lemma lt_lambda_star i : i \notin S -> i \notin T -> `|c i| < lambda_star.
Proof. by move=> iS iT; rewrite lt_neqAle le_lambda_star // andbT; move: iT; rewrite inE iS. Qed.

Lemma fit_exists : exists2 b, zero_off S b & y - X *m b = r.
Proof. by case: (residual_exists X S y) => _ [b b0 E]; exists b => //; rewrite -E opprB addrC subrK. Qed.

Theorem least_squares_fitP b : least_squares_fit X S y b <-> zero_off S b /\ y - X *m b = r.
Proof.
have above b' : zero_off S b -> y - X *m b = r -> zero_off S b' ->
    sq (y - X *m b') = sq r + sq (X *m (b' - b)).
  move=> b0 E b0'; have -> : y - X *m b' = r - X *m (b' - b).
    by rewrite -E mulmxBr opprB addrA subrK.
  rewrite sqB dot_orthogonal ?mulr0 ?subr0 // => i.
  by case: (boolP (i \in S)) => iS; [left; exact: correlation_on | right; rewrite !mxE b0 // b0' // subrr].
split=> [[b0 H]|[b0 H]]; split=> //; last first.
  by move=> b' b0'; rewrite (above b') // H ler_addl sq_ge0.
have [bf bf0 Ef] := fit_exists.
have := H bf bf0; rewrite Ef.
have -> : y - X *m b = r - X *m (b - bf) by rewrite -Ef mulmxBr opprB addrA subrK.
rewrite sqB dot_orthogonal ?mulr0 ?subr0; last first.
  by move=> i; case: (boolP (i \in S)) => iS;
    [left; exact: correlation_on | right; rewrite !mxE b0 // bf0 // subrr].
rewrite ger_addl => le0.
have : sq (X *m (b - bf)) == 0 by rewrite eq_le le0 sq_ge0.
by rewrite sq_eq0 => /eqP->; rewrite subr0.
Qed.

(* A residual of a minimiser that is zero off S is r. *)
Lemma zero_off_residual b : zero_off S b ->
  (forall i, i \in S -> corr X (y - X *m b) i = 0) -> y - X *m b = r.
Proof.
move=> b0 on; apply/esym/residual_eq; split=> //; exists b => //.
by rewrite opprB addrC subrK.
Qed.

Lemma fit_optimality lam b : lambda_star <= lam -> zero_off S b -> y - X *m b = r ->
  optimality X y S lam b.
Proof.
move=> le_lam b0 E; split=> i iS; rewrite E; first exact: correlation_on.
by split=> [|]; [exact: le_trans (le_lambda_star iS) le_lam | rewrite b0 // eqxx].
Qed.

Theorem minimisers_above lam b : lambda_star <= lam -> 0 < lam ->
  minimiser X y S lam b <-> least_squares_fit X S y b.
Proof.
move=> le_lam lam0; rewrite least_squares_fitP; split=> [min|[b0 E]]; last first.
  exact/(optimality_sufficient (ltW lam0))/fit_optimality.
have [bf bf0 Ef] := fit_exists.
have minf := optimality_sufficient (ltW lam0) (fit_optimality le_lam bf0 Ef).
split; last by rewrite (minimisers_fit (ltW lam0) min minf).
move=> i iS; apply/eqP; rewrite -normr_eq0.
have : penalty S b == 0.
  rewrite (minimisers_penalty lam0 min minf) /penalty big1 // => j jS.
  by rewrite bf0 // normr0.
by rewrite psumr_eq0 // => /allP/(_ i (mem_index_enum _)) /implyP; apply.
Qed.

Lemma nonzero_below lam b : 0 <= lam -> lam < lambda_star ->
  minimiser X y S lam b -> exists2 i, i \notin S & b i 0 != 0.
Proof.
move=> lam0 lt_lam min.
case: (pickP (fun i => (i \notin S) && (b i 0 != 0))) => [i /andP[iS bi]|none]; first by exists i.
have b0 : zero_off S b by move=> i iS; have := none i; rewrite iS /= => /negbFE/eqP.
have [on offS] := optimality_necessary lam0 min.
have E := zero_off_residual b0 on.
suff : lambda_star <= lam by rewrite leNgt lt_lam.
by apply: maximum_le => // i /offS[]; rewrite E.
Qed.

Theorem minimisers_below lam b : 0 < lam -> lam < lambda_star ->
  minimiser X y S lam b -> ~ zero_off S b.
Proof.
move=> lam0 lt_lam min b0; have [i iS] := nonzero_below (ltW lam0) lt_lam min.
by rewrite b0 // eqxx.
Qed.
End Threshold.
End Residual.
