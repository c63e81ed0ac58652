(* What the file of a certificate states and imports: the picks of both runs on a design of dyadic rationals. *)
From Coq Require Import ZArith.
From mathcomp Require Import all_ssreflect all_algebra.
From sparselin Require Import ordered_field inner_product lasso residual window active runs.
From sparselin Require Export checker.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory.
Local Open Scope ring_scope.

(* X_kj = columns_jk / 2^e and y_k = entries_k / 2^f *)
Definition dyadic_matrix n d e (columns : seq column) : 'M[rat]_(n, d) :=
  \matrix_(k, j) (of_Z [realFieldType of rat] (nth 0%BZ (nth [::] columns j) k) / 2%:R ^+ e).
Definition dyadic_column n f (entries : column) : 'cV[rat]_n :=
  \col_k (of_Z [realFieldType of rat] (nth 0%BZ entries k) / 2%:R ^+ f).

(* From the set of the forced features, the features numbered picks are picks of OMP in this order; of both *)
Definition omp_picks n d (X : 'M[rat]_(n, d)) (y : 'cV[rat]_n) (forced picks : seq nat) : Prop :=
  exists p : seq 'I_d, [seq val i | i <- p] = picks /\ omp_run X y [set i | val i \in forced] p.

Definition sequential_lasso_picks n d (X : 'M[rat]_(n, d)) (y : 'cV[rat]_n) (forced picks : seq nat) : Prop :=
  exists p : seq 'I_d, [/\ [seq val i | i <- p] = picks,
    omp_run X y [set i | val i \in forced] p &
    sequential_lasso_run X y [set i | val i \in forced] p].

Lemma dyadic_matrixE n d e columns : dyadic_matrix n d e columns =
  (2%:R ^+ e)^-1 *: design [realFieldType of rat] n d columns.
Proof. by apply/matrixP=> k j; rewrite !mxE mulrC. Qed.

Lemma dyadic_columnE n f entries : dyadic_column n f entries =
  (2%:R ^+ f)^-1 *: vector [realFieldType of rat] n entries.
Proof. by apply/colP=> k; rewrite !mxE mulrC. Qed.

Definition checks sequential n d columns y forced picks steps : bool :=
  (picks == [seq pick s | s <- steps]) && check sequential n d columns y forced steps.

Lemma checks_sound sequential n d e f columns y forced picks steps :
  checks sequential n d columns y forced picks steps ->
  exists p : seq 'I_d, [/\ [seq val i | i <- p] = picks,
    omp_run (dyadic_matrix n d e columns) (dyadic_column n f y) [set i | val i \in forced] p &
    sequential -> sequential_lasso_run (dyadic_matrix n d e columns) (dyadic_column n f y)
      [set i | val i \in forced] p].
Proof.
case/andP=> /eqP-> /and5P[/eqP cd sizes /eqP yn _ ok]; rewrite dyadic_matrixE dyadic_columnE.
have scale k : 0 < (2%:R ^+ k : [realFieldType of rat])^-1 by rewrite invr_gt0 exprn_gt0.
exact: (check_steps_sound cd sizes yn (scale e) (scale f) ok).
Qed.

Theorem omp_checked n d e f columns y forced picks steps :
  checks false n d columns y forced picks steps ->
  omp_picks (dyadic_matrix n d e columns) (dyadic_column n f y) forced picks.
Proof. by case/(checks_sound e f)=> p [pE omp _]; exists p. Qed.

Theorem sequential_lasso_checked n d e f columns y forced picks steps :
  checks true n d columns y forced picks steps ->
  sequential_lasso_picks (dyadic_matrix n d e columns) (dyadic_column n f y) forced picks.
Proof. by case/(checks_sound e f)=> p [pE omp sl]; exists p; split=> //; exact: sl. Qed.
