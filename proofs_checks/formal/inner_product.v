(* Inner products of columns, the Cauchy-Schwarz inequality, and correlations X_i'u, over an ordered field. *)
From mathcomp Require Import all_ssreflect all_algebra.
From sparselin Require Import ordered_field.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.POrderTheory Order.TotalTheory.
Local Open Scope ring_scope.

Section InnerProduct.
Variable R : realFieldType.
Add Field R_field : (ordered_field_field R).

(* <u, v> and |u|² *)
Definition dot n (u v : 'cV[R]_n) : R := \sum_k u k 0 * v k 0.
Definition sq n (u : 'cV[R]_n) : R := dot u u.
(* <X_i, u> *)
Definition corr n d (X : 'M[R]_(n, d)) (u : 'cV[R]_n) (i : 'I_d) : R := dot (col i X) u.

Section Bilinear.
Variable n : nat.
Implicit Types (u v w : 'cV[R]_n) (a b : R).

Lemma dotC u v : dot u v = dot v u.
Proof. by apply: eq_bigr => k _; rewrite mulrC. Qed.

Lemma dotDl u v w : dot (u + v) w = dot u w + dot v w.
Proof. by rewrite -big_split; apply: eq_bigr => k _; rewrite mxE mulrDl. Qed.

Lemma dotNl u v : dot (- u) v = - dot u v.
Proof. by rewrite /dot -sumrN; apply: eq_bigr => k _; rewrite mxE mulNr. Qed.

Lemma dotZl a u v : dot (a *: u) v = a * dot u v.
Proof. by rewrite /dot mulr_sumr; apply: eq_bigr => k _; rewrite mxE mulrA. Qed.

Lemma dotBl u v w : dot (u - v) w = dot u w - dot v w.
Proof. by rewrite dotDl dotNl. Qed.

Lemma dot0l u : dot 0 u = 0.
Proof. by rewrite /dot big1 // => k _; rewrite mxE mul0r. Qed.

Lemma dotDr u v w : dot w (u + v) = dot w u + dot w v.
Proof. by rewrite !(dotC w) dotDl. Qed.

Lemma dotNr u v : dot v (- u) = - dot v u.
Proof. by rewrite !(dotC v) dotNl. Qed.

Lemma dotZr a u v : dot v (a *: u) = a * dot v u.
Proof. by rewrite !(dotC v) dotZl. Qed.

Lemma dotBr u v w : dot w (u - v) = dot w u - dot w v.
Proof. by rewrite dotDr dotNr. Qed.

Lemma dot0r u : dot u 0 = 0.
Proof. by rewrite dotC dot0l. Qed.

Lemma sq_ge0 u : 0 <= sq u.
Proof. by apply: sumr_ge0 => k _; rewrite -expr2 sqr_ge0. Qed.

Lemma sq_eq0 u : (sq u == 0) = (u == 0).
Proof.
apply/eqP/eqP=> [|->]; last exact: dot0l.
move/eqP; rewrite psumr_eq0 => [/allP H|k _]; last by rewrite -expr2 sqr_ge0.
apply/colP=> k; rewrite mxE; apply/eqP.
by have := H k (mem_index_enum _); rewrite /= -expr2 sqrf_eq0.
Qed.

Lemma sq_gt0 u : (0 < sq u) = (u != 0).
Proof. by rewrite lt_neqAle sq_ge0 andbT eq_sym sq_eq0. Qed.

Lemma sqB u v : sq (u - v) = sq u - 2%:R * dot u v + sq v.
Proof. by rewrite /sq dotBl !dotBr (dotC v u); to_ring R; ring. Qed.

Lemma sqD u v : sq (u + v) = sq u + 2%:R * dot u v + sq v.
Proof. by rewrite /sq dotDl !dotDr (dotC v u); to_ring R; ring. Qed.

Lemma sqZ a u : sq (a *: u) = a ^+ 2 * sq u.
Proof. by rewrite /sq dotZl dotZr mulrA. Qed.

(* 0 <= | |v|²u - <u, v>v |² = |v|²(|u|²|v|² - <u, v>²) *)
Lemma cauchy_schwarz u v : dot u v ^+ 2 <= sq u * sq v.
Proof.
have [/eqP|v0] := eqVneq (sq v) 0.
  by rewrite sq_eq0 => /eqP->; rewrite /sq !dot0r expr0n mulr0.
have v1 : 0 < sq v by rewrite lt_neqAle sq_ge0 andbT eq_sym.
have := sq_ge0 (sq v *: u - dot u v *: v).
rewrite sqB !sqZ dotZl dotZr.
have -> : sq v ^+ 2 * sq u - 2%:R * (sq v * (dot u v * dot u v)) + dot u v ^+ 2 * sq v
   = sq v * (sq u * sq v - dot u v ^+ 2) by to_ring R; ring.
by rewrite pmulr_rge0 // subr_ge0.
Qed.
End Bilinear.

Section Correlations.
Variables n d : nat.
Implicit Types (X : 'M[R]_(n, d)) (u v : 'cV[R]_n) (b : 'cV[R]_d).

Lemma corrE X u i : corr X u i = (X^T *m u) i 0.
Proof. by rewrite mxE; apply: eq_bigr => k _; rewrite !mxE. Qed.

Lemma corrD X u v i : corr X (u + v) i = corr X u i + corr X v i.
Proof. exact: dotDr. Qed.

Lemma corrB X u v i : corr X (u - v) i = corr X u i - corr X v i.
Proof. exact: dotBr. Qed.

Lemma corrZ X a u i : corr X (a *: u) i = a * corr X u i.
Proof. exact: dotZr. Qed.

Lemma corr0 X i : corr X 0 i = 0.
Proof. exact: dot0r. Qed.

(* <u, Xb> = sum of b_i <X_i, u> *)
Lemma dot_mul X u b : dot u (X *m b) = \sum_i b i 0 * corr X u i.
Proof.
rewrite /dot; under eq_bigr do rewrite mxE mulr_sumr.
rewrite exchange_big /=; apply: eq_bigr => i _.
rewrite /corr /dot mulr_sumr; apply: eq_bigr => k _.
by rewrite mxE mulrC mulrAC mulrC mulrA.
Qed.

Lemma col_mul X i : col i X = X *m delta_mx i 0.
Proof. exact: colE. Qed.

(* <X_i, w>² <= |X_i|²|w|² *)
Lemma corr_sq X u i : corr X u i ^+ 2 <= sq (col i X) * sq u.
Proof. exact: cauchy_schwarz. Qed.
End Correlations.
End InnerProduct.
