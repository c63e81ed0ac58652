(* The tactics ring and field, and three lemmas on inequalities, over any ordered field. *)
From mathcomp Require Import all_ssreflect all_algebra.
Require Export Ring Field.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.POrderTheory Order.TotalTheory.
Local Open Scope ring_scope.

(* The operations of R, each with one name: those of the hierarchy have several, all convertible. *)
Definition radd (R : realFieldType) (x y : R) : R := x + y.
Definition rmul (R : realFieldType) (x y : R) : R := x * y.
Definition ropp (R : realFieldType) (x : R) : R := - x.
Definition rinv (R : realFieldType) (x : R) : R := x^-1.
Definition rsub (R : realFieldType) (x y : R) : R := radd x (ropp y).
Definition rdiv (R : realFieldType) (x y : R) : R := rmul x (rinv y).
Definition r0 (R : realFieldType) : R := 0.
Definition r1 (R : realFieldType) : R := 1.

Lemma ordered_field_ring (R : realFieldType) :
  ring_theory (@r0 R) (@r1 R) (@radd R) (@rmul R) (@rsub R) (@ropp R) eq.
Proof.
split=> *; rewrite /radd /rmul /rsub /ropp /r0 /r1 /radd /ropp ?add0r ?mul1r ?mulrDl ?addrN //.
- exact: addrC.
- exact: addrA.
- exact: mulrC.
- exact: mulrA.
Qed.

Lemma ordered_field_field (R : realFieldType) :
  field_theory (@r0 R) (@r1 R) (@radd R) (@rmul R) (@rsub R) (@ropp R) (@rdiv R) (@rinv R) eq.
Proof.
split=> // [||x x0]; first exact: ordered_field_ring.
- exact/eqP/oner_neq0.
- by rewrite /rmul /rinv mulVf //; apply/eqP.
Qed.

Ltac to_ring R :=
  repeat match goal with
  | |- context [@GRing.add ?Z ?a ?b] => change (@GRing.add Z a b) with (@radd R a b)
  | |- context [@GRing.opp ?Z ?a] => change (@GRing.opp Z a) with (@ropp R a)
  | |- context [@GRing.mul ?Z ?a ?b] => change (@GRing.mul Z a b) with (@rmul R a b)
  | |- context [@GRing.inv ?Z ?a] => change (@GRing.inv Z a) with (@rinv R a)
  | |- context [@GRing.exp ?Z ?a 2] => change (@GRing.exp Z a 2) with (@rmul R a a)
  | |- context [@GRing.natmul ?Z ?a 2] => change (@GRing.natmul Z a 2) with (@radd R a a)
  | |- context [@GRing.zero ?Z] => change (@GRing.zero Z) with (@r0 R)
  | |- context [@GRing.one ?Z] => change (@GRing.one Z) with (@r1 R)
  end;
  match goal with |- @eq _ ?a ?b => change (@eq (Num.RealField.sort R) a b) end.

Section Inequalities.
Variable R : realFieldType.
Implicit Types a b c g t x : R.
Add Field R_field : (ordered_field_field R).

Lemma le_by x a b : 0 <= x -> b - a = x -> a <= b.
Proof. by move=> x0 e; rewrite -subr_ge0 e. Qed.

Lemma lt_by x a b : 0 < x -> b - a = x -> a < b.
Proof. by move=> x0 e; rewrite -subr_gt0 e. Qed.

(* If at² - tg >= 0 for all t in (0, b], then g <= 0: else take t = min(b, g/(a + 1)). *)
Lemma first_order a g b : 0 <= a -> 0 < b ->
  (forall t, 0 < t -> t <= b -> 0 <= a * t ^+ 2 - t * g) -> g <= 0.
Proof.
move=> a0 b0 H; rewrite leNgt; apply/negP=> g0.
have a1 : 0 < a + 1 by rewrite ltr_spaddr ?ltr01.
pose t := Num.min b (g / (a + 1)).
have t0 : 0 < t by rewrite lt_minr b0 divr_gt0.
have tb : t <= b by rewrite le_minl lexx.
have tg : t * (a + 1) <= g by rewrite -ler_pdivl_mulr // le_minl lexx orbT.
have : 0 < t * (g - (a + 1) * t + t).
  by rewrite mulr_gt0 // ltr_paddl // subr_ge0 mulrC.
have := H t t0 tb.
have -> : a * t ^+ 2 - t * g = - (t * (g - (a + 1) * t + t)) by to_ring R; ring.
by rewrite oppr_ge0 => /le_lt_trans/[apply]; rewrite ltxx.
Qed.

Lemma sgr_mul_norm x : Num.sg x * `|x| = x.
Proof. by rewrite -numEsg. Qed.

Lemma mulrr_sg x : Num.sg x * x = `|x|.
Proof. by rewrite -normrEsg. Qed.

(* u² <= v², v >= 0 without roots *)
Lemma norm_le_of_sq a b : 0 <= b -> a ^+ 2 <= b ^+ 2 -> `|a| <= b.
Proof.
by move=> b0; rewrite -(ler_sqr (_ : `|a| \in Num.nneg)) ?nnegrE // real_normK // num_real.
Qed.
End Inequalities.

(* ring and field for R, and a <= b or a < b from b - a = x with 0 <= x or 0 < x *)
