(* The runs of Orthogonal Matching Pursuit and of Sequential LASSO: sequences of picks. *)
From mathcomp Require Import all_ssreflect all_algebra.
From sparselin Require Import ordered_field inner_product lasso residual existence window active.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.POrderTheory Order.TotalTheory.
Local Open Scope ring_scope.

Section Definitions.
Variable R : realFieldType.
Variables (n d : nat) (X : 'M[R]_(n, d)) (y : 'cV[R]_n).
Implicit Types (S : {set 'I_d}) (i : 'I_d) (p : seq 'I_d).

(* Algorithm 2: i is not in S and |X_i'r| is the largest, and not zero. *)
Definition omp_step S i := i \notin S /\ 0 < `|correlation X S y i| /\
  forall j, j \notin S -> `|correlation X S y j| <= `|correlation X S y i|.

(* Algorithm 3, by minimisers of F alone: from some lam0 > 0 on, none has nonzeros off S, and just below it some
   minimiser has b_i nonzero. *)
Definition sequential_lasso_step S i := i \notin S /\ exists lam0, 0 < lam0 /\
  (forall lam b, lam0 <= lam -> minimiser X y S lam b -> zero_off S b) /\
  exists lam1, [/\ 0 <= lam1, lam1 < lam0 & forall lam, lam1 < lam -> lam < lam0 ->
    exists2 b, minimiser X y S lam b & b i 0 != 0].

Fixpoint run (step : {set 'I_d} -> 'I_d -> Prop) S p :=
  if p is i :: p' then step S i /\ run step (i |: S) p' else True.

Definition omp_run S p := run omp_step S p.
Definition sequential_lasso_run S p := run sequential_lasso_step S p.

(* An OMP run, at each step of which one feature alone has the largest correlation. *)
Definition untied_omp_run S p := run (fun S' i => omp_step S' i /\ #|tied X S' y| = 1%N) S p.
End Definitions.

Section Runs.
Variable R : realFieldType.
Variables (n d : nat) (X : 'M[R]_(n, d)) (y : 'cV[R]_n).
Implicit Types (S : {set 'I_d}) (i : 'I_d) (p : seq 'I_d).
Notation L S := (lambda_star X S y).

Lemma omp_stepP S i : omp_step X y S i <-> 0 < L S /\ i \in tied X S y.
Proof.
split=> [[iS [c0 max]]|[L0 iT]]; last first.
  have [iS ci] := tiedP _ _ _ _ iT; rewrite /omp_step ci; split=> //; split=> // j.
  exact: le_lambda_star.
have cL : `|correlation X S y i| = L S.
  by apply/eqP; rewrite eq_le le_lambda_star //= maximum_le.
by rewrite -cL; split=> //; apply/tiedP.
Qed.

Theorem sequential_lasso_stepP S i : sequential_lasso_step X y S i <-> 0 < L S /\ active X y S i.
Proof.
have Mb := mean_bounds X y S.
split=> [[iS [lam0 [lam0_gt0 [zero [lam1 [lam1_ge0 lt10 below]]]]]]|[L0 act]]; last first.
  have iS : i \notin S by case/tiedP: (active_tied act).
  split=> //; exists (L S); split=> //; split=> [lam b le min|].
    by have [] := (minimisers_above b le (lt_le_trans L0 le)).1 min.
  exists (window_start X y S (mean_bound X y S)); split.
  - exact: window_start_ge0.
  - exact: window_start_lt Mb L0.
  by move=> lam start lt; apply/(active_nonzero L0 Mb start lt iS).
have le_L : L S <= lam0.
  rewrite leNgt; apply/negP=> lt; have [b min] := minimiser_exists X y S (ltW lam0_gt0).
  have [j jS bj] := nonzero_below (ltW lam0_gt0) lt min.
  by move: bj; rewrite (zero _ _ (lexx _) min) // eqxx.
have L_ge : lam0 <= L S.
  rewrite leNgt; apply/negP=> lt.
  have [s1 s2] : Num.max (L S) lam1 < (Num.max (L S) lam1 + lam0) / 2%:R /\
      (Num.max (L S) lam1 + lam0) / 2%:R < lam0.
    by have /midf_lt[] : Num.max (L S) lam1 < lam0 by rewrite lt_maxl lt lt10.
  move: (_ / _) s1 s2 => lam; rewrite lt_maxl => /andP[Ll l1] l0.
  have [b min bi] := below lam l1 l0.
  have lam_gt0 : 0 < lam := le_lt_trans (lambda_star_ge0 X y S) Ll.
  have [bz _] := (minimisers_above b (ltW Ll) lam_gt0).1 min.
  by move: bi; rewrite bz // eqxx.
have E : lam0 = L S by apply/eqP; rewrite eq_le L_ge le_L.
rewrite {}E {le_L L_ge} in lam0_gt0 zero lt10 below; split=> //.
have /midf_lt[] : Num.max (window_start X y S (mean_bound X y S)) lam1 < L S.
  by rewrite lt_maxl lt10 window_start_lt.
move: (_ / _) => lam; rewrite lt_maxl => /andP[start l1] l0.
by apply/(active_nonzero lam0_gt0 Mb start l0 iS)/below.
Qed.

Theorem sequential_lasso_step_omp S i : sequential_lasso_step X y S i -> omp_step X y S i.
Proof. by case/sequential_lasso_stepP => L0 act; apply/omp_stepP; split; rewrite ?(active_tied act). Qed.

(* Both end where lambda* = 0, and only there. *)
Theorem omp_ends S : (exists i, omp_step X y S i) <-> 0 < L S.
Proof.
split=> [[i /omp_stepP[]] //|L0]; have [i iT] := tied_exists L0.
by exists i; apply/omp_stepP.
Qed.

Theorem sequential_lasso_ends S : (exists i, sequential_lasso_step X y S i) <-> 0 < L S.
Proof.
split=> [[i /sequential_lasso_stepP[]] //|L0]; have [i act] := active_exists L0.
by exists i; apply/sequential_lasso_stepP.
Qed.

Theorem untied_step S i : omp_step X y S i -> #|tied X S y| = 1%N ->
  forall j, (omp_step X y S j <-> j = i) /\ (sequential_lasso_step X y S j <-> j = i).
Proof.
move=> /omp_stepP[L0 iT] /eqP/cards1P[k Tk] j.
have ik : i = k by apply/eqP; rewrite -in_set1 -Tk.
rewrite -{}ik in Tk.
have omp j' : omp_step X y S j' <-> j' = i.
  by rewrite omp_stepP Tk inE; split=> [[_ /eqP]|->].
split=> //; split=> [/sequential_lasso_step_omp/omp //|->].
have [l act] := active_exists L0; apply/sequential_lasso_stepP; split=> //.
by have := active_tied act; rewrite Tk inE => /eqP<-.
Qed.

Theorem sequential_lasso_run_omp S p : sequential_lasso_run X y S p -> omp_run X y S p.
Proof. by elim: p S => //= i p IH S [/sequential_lasso_step_omp step /IH]. Qed.

(* Along an OMP run without ties there is one run of each kind, the same. *)
Theorem untied_runs S p : untied_omp_run X y S p ->
  sequential_lasso_run X y S p /\
  forall p', (size p' <= size p)%N -> omp_run X y S p' \/ sequential_lasso_run X y S p' ->
    p' = take (size p') p.
Proof.
move=> untied; suff [sl unique] : sequential_lasso_run X y S p /\
    forall p', (size p' <= size p)%N -> omp_run X y S p' -> p' = take (size p') p.
  by split=> // p' le [|/sequential_lasso_run_omp]; exact: unique.
elim: p S untied => [|i p IH] S; first by move=> _; split=> // -[].
case=> [[step single]] /IH [sl unique]; have only := untied_step step single.
split=> [|[|j p'] //= le [stepj runp]]; first by split=> //; apply/(only i).2.
by have ji := (only j).1.1 stepj; rewrite ji in runp *; congr (_ :: _); apply: unique.
Qed.

(* A step of Sequential LASSO from a least squares fit b0 and a direction: what a certificate holds *)
Theorem certified_step S i b0 delta : 0 < L S ->
  direction X y S delta -> i \notin S -> delta i 0 != 0 -> zero_off S b0 ->
  y - X *m b0 = residual X S y -> sequential_lasso_step X y S i.
Proof.
move=> L0 dir iS di b00 E; apply/sequential_lasso_stepP; split=> //.
have Mb := mean_bounds X y S; have /midf_lt[] := window_start_lt Mb L0.
move: (_ / _) => lam start lt; apply/(active_nonzero L0 Mb start lt iS).
exists (b0 + (1 - lam / L S) *: delta); first exact: (direction_minimiser Mb L0 start lt b00 E dir).
by rewrite mxE b00 // add0r mxE mulf_neq0 // gt_eqF // tau_gt0.
Qed.
End Runs.
