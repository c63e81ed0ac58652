(* A coordinate may leave, and then the mean of the flow is not a solution of the LASSO: X_0 = (3, 0), X_1 = (1, 1),
   y = (2, 3). X_0 arrives at 1/6 with b = (2/3, 0), X_1 at 2/9 with b = (0, 5/2), and s_0 falls from 1 to 0 at 8/9. *)
From mathcomp Require Import all_ssreflect all_algebra.
From sparselin Require Import ordered_field inner_product lasso dual flow average.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.POrderTheory Order.TotalTheory.
Local Open Scope ring_scope.

Definition leaving_X : 'M[rat]_2 := \matrix_(k, j) (if val k == 0%N then nth 0 [:: 3%:R; 1] j else nth 0 [:: 0; 1] j).
Definition leaving_y : 'cV[rat]_2 := \col_k nth 0 [:: 2%:R; 3%:R] k.
Definition leaving_times : nat -> rat := nth 0 [:: 0; 1 / 6%:R; 2%:R / 9%:R; 8%:R / 9%:R].
Definition leaving_coefs k : 'cV[rat]_2 :=
  \col_i nth 0 (nth [::] [:: [:: 0; 0]; [:: 2%:R / 3%:R; 0]; [:: 0; 5%:R / 2%:R]] k) i.
Notation X := leaving_X.
Notation y := leaving_y.

Lemma leaving_corr k i : corr X (y - X *m leaving_coefs k) i =
  nth 0 (nth [::] [:: [:: 6%:R; 5%:R]; [:: 0; 3%:R]; [:: - (3%:R / 2%:R); 0]; [:: 6%:R; 5%:R]] (minn k 3)) i.
Proof.
have entry j : (y - X *m leaving_coefs k) j 0 = y j 0 - (X j 0 * leaving_coefs k 0 0 + X j 1 * leaving_coefs k 1 0).
  by rewrite mxE [(- (X *m _)) j 0]mxE [(X *m _) j 0]mxE sum_two.
rewrite /corr /dot sum_two !entry.
have c0 l : (3 <= l)%N -> leaving_coefs l = 0.
  by case: l => [|[|[|l]]] // _; apply/colP=> j; rewrite !mxE /= !nth_nil.
case: k {entry} => [|[|[|k]]]; last rewrite c0 // (minn_idPr _) //; move: i; apply: two_entries;
  by rewrite !mxE /=; apply/eqP; vm_compute.
Qed.

Lemma leaving_state k i : (k <= 3)%N -> state X y leaving_times leaving_coefs k i =
  nth 0 (nth [::] [:: [:: 0; 0]; [:: 1; 5%:R / 6%:R]; [:: 1; 1]; [:: 0; 1]] k) i.
Proof.
move: i; case: k => [|[|[|[|k]]]] // i _; rewrite /= ?leaving_corr /minn /=; move: i;
  by apply: two_entries; apply/eqP; vm_compute.
Qed.

Theorem leaving_flow : flow X y set0 leaving_times leaving_coefs 3.
Proof.
split=> // k k3.
have ok l : (l == k) || (l == k.+1) -> subgradient set0 (state X y leaving_times leaving_coefs l) (leaving_coefs k).
  move=> lk i _; rewrite leaving_state; last by case/orP: lk => /eqP-> //; exact: ltnW.
  rewrite !mxE; move: i; case: k k3 lk => [|[|[|k]]] // _ /orP[] /eqP->;
    by apply: two_entries; (split; [vm_compute | move=> nz; apply/eqP; move: nz; vm_compute]).
split=> [|i||]; [| by rewrite inE | by apply: ok; rewrite eqxx | by apply: ok; rewrite eqxx orbT].
by case: k k3 {ok} => [|[|[|k]]].
Qed.

Theorem leaving_mean :
  ~ minimiser X y set0 (leaving_times 3)^-1 (mean leaving_times leaving_coefs 2 (leaving_times 3)).
Proof.
have [_ fl] := leaving_flow; have [lt _ _ _] := fl 2%N isT.
have pk : in_piece leaving_times 3 2 (leaving_times 3) by rewrite /in_piece lexx (ltW lt).
have t0 : 0 < leaving_times 3 by vm_compute.
move=> /(mean_is_lasso leaving_flow pk t0)/(_ 0); rewrite in_set0 => /(_ isT).
have -> : state_at X y leaving_times leaving_coefs 2 (leaving_times 3) 0 = 0.
  exact: etrans (state_end X y leaving_times leaving_coefs 2 0) (leaving_state 0 (leqnn 3)).
have -> : mean leaving_times leaving_coefs 2 (leaving_times 3) 0 0 = 1 / 24%:R.
  by rewrite /mean /integral !big_ord_recl big_ord0 !mxE /=; apply/eqP; vm_compute.
by move=> H; have := H isT => /eqP; vm_compute.
Qed.
