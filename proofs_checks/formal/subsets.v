(* Best subsets: the bound of a leaf, the tree that covers all subsets, and what a certificate proves.

   q(x) = a - <b, x> + <x, Gx>/2 with G symmetric. For a diagonal matrix D and any w, with c = b - (G - D)w,

     q(x) = a - <w, (G - D)w>/2 - sum of (c_j x_j - D_j x_j²/2) + <x - w, (G - D)(x - w)>/2,

   and the last term is not negative where G - D is positive semidefinite. In ridge.v q is the objective. *)
From mathcomp Require Import all_ssreflect all_algebra.
From sparselin Require Import ordered_field inner_product lasso.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.POrderTheory Order.TotalTheory.
Local Open Scope ring_scope.

Section Forms.
Variable R : realFieldType.
Add Field R_field : (ordered_field_field R).

Lemma dot_adjoint m n (M : 'M[R]_(m, n)) u v : dot u (M *m v) = dot (M^T *m u) v.
Proof. by rewrite dot_mul [RHS]dotC; apply: eq_bigr => i _; rewrite corrE. Qed.

Lemma dot_symmetric n (M : 'M[R]_n) u v : M^T = M -> dot u (M *m v) = dot v (M *m u).
Proof. by move=> symmetric; rewrite dot_adjoint symmetric dotC. Qed.

Lemma half_ge0 : 0 <= 2%:R^-1 :> R.
Proof. by rewrite invr_ge0 ler0n. Qed.

Lemma two_neq0 : (2%:R : R) <> 0.
Proof. by apply/eqP; rewrite pnatr_eq0. Qed.

Section Quadratic.
Variables (d : nat) (a : R) (b : 'cV[R]_d) (G : 'M[R]_d).
Implicit Types (F S : {set 'I_d}) (D h : 'I_d -> R) (w x : 'cV[R]_d).

Definition quadratic x : R := a - dot b x + 2%:R^-1 * dot x (G *m x).

Definition semidefinite F (M : 'M[R]_d) := forall v, zero_off F v -> 0 <= dot v (M *m v).

Lemma nonnegative M v : semidefinite setT M -> 0 <= dot v (M *m v).
Proof. by apply=> j; rewrite in_setT. Qed.

Definition diagonal D : 'M[R]_d := diag_mx (\row_j D j).
Definition slopes D w : 'cV[R]_d := b - (G - diagonal D) *m w.
Definition base D w : R := a - 2%:R^-1 * dot w ((G - diagonal D) *m w).
(* What x_j = t takes from the base *)
Definition gain (curvature slope t : R) : R := slope * t - 2%:R^-1 * curvature * t ^+ 2.

Lemma sum_gain S D (c : 'I_d -> R) h x : zero_off S x ->
  (forall j, j \in S -> gain (D j) (c j) (x j 0) <= h j) ->
  \sum_j gain (D j) (c j) (x j 0) <= \sum_(j in S) h j.
Proof.
move=> xS le_h; rewrite (bigID (mem S)) /= [X in _ + X]big1 => [|j jS]; first by rewrite addr0 ler_sum.
by rewrite /gain xS // expr0n !mulr0 subrr.
Qed.

Hypothesis symmetric : G^T = G.

Lemma dot_diagonal D u v : dot u (diagonal D *m v) = \sum_j D j * u j 0 * v j 0.
Proof. by apply: eq_bigr => j _; rewrite mul_diag_mx !mxE mulrCA mulrA. Qed.

Lemma quadratic_split D w x : quadratic x = base D w - \sum_j gain (D j) (slopes D w j 0) (x j 0)
  + 2%:R^-1 * dot (x - w) ((G - diagonal D) *m (x - w)).
Proof.
set K := G - _; have K_sym : K^T = K by rewrite /K linearB /= symmetric tr_diag_mx.
have -> : \sum_j gain (D j) (slopes D w j 0) (x j 0)
    = dot (slopes D w) x - 2%:R^-1 * dot x (diagonal D *m x).
  rewrite dot_diagonal mulr_sumr -sumrB; apply: eq_bigr => j _.
  by rewrite /gain -!mulrA expr2.
have -> : dot x (diagonal D *m x) = dot x (G *m x) - dot x (K *m x).
  by rewrite -dotBr -mulmxBl /K opprB addrC subrK.
rewrite /quadratic /base /slopes -/K mulmxBr !dotBr !dotBl (dotC (K *m w)) (dot_symmetric w x) //.
move: (dot b x) (dot x (K *m w)) (dot x (G *m x)) (dot x (K *m x)) (dot w _) => p q r s t.
by to_ring R; field; exact: two_neq0.
Qed.

(* The bound of a leaf, for all x that are zero off S *)
Theorem leaf_bound F S D w h x : semidefinite F (G - diagonal D) -> zero_off F w -> zero_off F x ->
  zero_off S x -> (forall j, j \in S -> gain (D j) (slopes D w j 0) (x j 0) <= h j) ->
  base D w - \sum_(j in S) h j <= quadratic x.
Proof.
move=> psd wF xF xS le_h; rewrite (quadratic_split D w) ler_paddr //.
  by rewrite mulr_ge0 ?half_ge0 // psd // => j jF; rewrite !mxE wF // xF // subrr.
by rewrite ler_add2l ler_opp2 sum_gain.
Qed.

(* Where x_j is if the value is at most U *)
Theorem leaf_confines F S D w h x U j : semidefinite F (G - diagonal D) -> zero_off F w -> zero_off F x ->
  zero_off S x -> (forall i, i \in S -> gain (D i) (slopes D w i 0) (x i 0) <= h i) -> j \in S -> 0 < D j ->
  quadratic x <= U ->
  2%:R^-1 * D j * (x j 0 - slopes D w j 0 / D j) ^+ 2
  <= U - (base D w - \sum_(i in S) h i) - h j + slopes D w j 0 ^+ 2 / (2%:R * D j).
Proof.
move=> psd wF xF xS le_h jS Dj le_U; set c := slopes D w j 0; set t := x j 0.
pose h' i := if i == j then gain (D j) c t else h i.
have bound : base D w - \sum_(i in S) h' i <= quadratic x.
  by apply: (leaf_bound psd wF xF xS) => i iS; rewrite /h'; case: eqP => [->|_]; [exact: lexx | exact: le_h].
have sums : \sum_(i in S) h' i = gain (D j) c t + (\sum_(i in S) h i - h j).
  rewrite (bigD1 j jS) /= [in RHS](bigD1 j jS) /= addrAC subrr add0r /h' eqxx; congr (_ + _).
  by apply: eq_bigr => i /andP[_ /negbTE->].
have Dj0 : D j <> 0 by apply/eqP; rewrite gt_eqF.
move: bound; rewrite sums => /le_trans/(_ le_U); rewrite -subr_ge0 => nonneg; rewrite -subr_ge0.
suff <- : U - (base D w - (gain (D j) c t + (\sum_(i in S) h i - h j)))
  = U - (base D w - \sum_(i in S) h i) - h j + c ^+ 2 / (2%:R * D j)
    - 2%:R^-1 * D j * (t - c / D j) ^+ 2 by [].
rewrite /gain; move: (base D w) (\sum_(i in S) h i) (h j) (D j) Dj0 => p q r s s0.
by to_ring R; field; split; [exact: s0 | exact: two_neq0].
Qed.

(* The value on A, and its monotonicity: x is least among all z that are zero off A. *)
Lemma value_bound (A : {set 'I_d}) x z : semidefinite setT G -> zero_off A x ->
  (forall j, j \in A -> (G *m x) j 0 = b j 0) -> zero_off A z -> quadratic x <= quadratic z.
Proof.
move=> psd xA stationary zA; pose D (j : 'I_d) : R := 0.
have D0 : G - diagonal D = G by apply/matrixP=> i l; rewrite !mxE mul0rn subr0.
have no_gain z' : zero_off A z' -> \sum_j gain (D j) (slopes D x j 0) (z' j 0) = 0.
  move=> zA'; rewrite big1 // => j _; rewrite /gain mulr0 mul0r subr0.
  have [jA|jA] := boolP (j \in A); last by rewrite zA' ?mulr0.
  by rewrite /slopes D0 !mxE -stationary // mxE subrr mul0r.
rewrite (quadratic_split D x x) (quadratic_split D x z) !no_gain // D0 subrr dot0l mulr0 ler_add2l.
by rewrite mulr_ge0 ?half_ge0 ?nonnegative.
Qed.
End Quadratic.

(* A bound on the sum of H over S, for any limit >= 0. With the (k - |I|)-th largest of the rest it is the sum over I
   and the k - |I| largest of the rest. *)
Section Largest.
Variables (T : finType) (H : T -> R) (k : nat) (I E : {set T}) (limit : R).
Definition largest_sum : R := \sum_(u in I) H u + ((k - #|I|)%:R * limit
  + \sum_(u | u \notin I :|: E) Num.max (H u - limit) 0).

Definition in_node (S : {set T}) := [&& I \subset S, [disjoint S & E] & (#|S| <= k)%N].

Lemma largest_sum_bound S : 0 <= limit -> in_node S -> \sum_(u in S) H u <= largest_sum.
Proof.
move=> limit0 /and3P[IS SE Sk]; rewrite (bigID (mem I)) /= /largest_sum.
rewrite [X in X + _](eq_bigl (mem I)) => [|u]; last by rewrite andb_idl // => /(subsetP IS).
have fewer : (#|S :\: I| <= k - #|I|)%N by rewrite cardsD (setIidPr IS) leq_sub2r.
rewrite ler_add2l; apply: (@le_trans _ _ (\sum_(u in S :\: I) (limit + Num.max (H u - limit) 0))).
  rewrite [X in _ <= X](eq_bigl (fun u => (u \in S) && (u \notin I))) => [|u]; last by rewrite inE andbC.
  by apply: ler_sum => u _; rewrite -ler_subl_addl le_maxr lexx.
rewrite big_split /= sumr_const -[limit *+ _]mulr_natl ler_add ?ler_wpmul2r ?ler_nat //.
rewrite big_mkcond [X in _ <= X]big_mkcond; apply: ler_sum => u _; rewrite !inE negb_or.
have [uS|] := boolP (u \in S); first by rewrite (disjointFr SE) // !andbT.
by rewrite andbF; case: ifP => // _; rewrite le_maxr lexx orbT.
Qed.

Lemma largest_sum_tight (A : {set T}) : [disjoint A & I :|: E] -> #|A| = (k - #|I|)%N \/ limit = 0 ->
  (forall u, u \in A -> limit <= H u) -> (forall u, u \notin A :|: (I :|: E) -> H u <= limit) ->
  largest_sum = \sum_(u in I) H u + \sum_(u in A) H u.
Proof.
move=> free size above below; congr (_ + _); rewrite (bigID (mem A)) /= [X in _ + (_ + X)]big1 => [|u].
  rewrite addr0 (eq_bigl (mem A)) => [|u]; last by rewrite andb_idl // => /(disjointFr free)->.
  rewrite (eq_bigr (fun u => H u - limit)) => [|u uA]; last by apply/max_idPl; rewrite subr_ge0 above.
  rewrite sumrB sumr_const addrCA; case: size => [->|->]; first by rewrite mulr_natl subrr addr0.
  by rewrite mulr0 mul0rn subrr addr0.
by case/andP=> uIE uA; apply/max_idPr; rewrite subr_le0 below // in_setU negb_or uA.
Qed.
End Largest.

(* The tree: a node has the subsets S with I inside, E outside and |S| <= k. *)
Section Tree.
Variables (T : finType) (leaf : Type) (claim : leaf -> {set T} -> {set T} -> bool) (k : nat).
Inductive tree := Leaf of leaf | Split of T & tree & tree.

Fixpoint proves (t : tree) (I E : {set T}) : bool := (k < #|I|)%N || match t with
  | Leaf l => claim l I E
  | Split j t_in t_out => proves t_in (j |: I) E && proves t_out I (j |: E)
  end.

(* Several features go out, one after another: the leaf bounds each subtree with the feature in. And the reverse. *)
Definition fix_out l js t := foldr (fun j => Split j (Leaf l)) t js.
Definition fix_in l js t := foldr (fun j t' => Split j t' (Leaf l)) t js.

Theorem covering (P : {set T} -> Prop) t I E :
  (forall l I' E' S, claim l I' E' -> in_node k I' E' S -> P S) ->
  proves t I E -> forall S, in_node k I E S -> P S.
Proof.
move=> sound; elim: t I E => [l|j t1 IH1 t2 IH2] I E /= ok S node; have /and3P[IS SE Sk] := node.
  by move: ok; rewrite ltnNge (leq_trans (subset_leq_card IS)) //= => /sound; apply.
move: ok; rewrite ltnNge (leq_trans (subset_leq_card IS)) //= => /andP[ok1 ok2].
have [jS|jS] := boolP (j \in S).
  by apply: IH1 ok1 _ _; rewrite /in_node subUset sub1set jS IS SE.
apply: IH2 ok2 _ _; rewrite /in_node IS Sk -setI_eq0 setIUr setU_eq0 !setI_eq0 SE !andbT.
by rewrite disjoint_sym disjoints1.
Qed.
End Tree.

(* The certificate: for each stage G - D is semidefinite on the features F; k counts groups of features. *)
Section Certificate.
Variables (d : nat) (a : R) (b : 'cV[R]_d) (G : 'M[R]_d).
Variables (T : finType) (group : 'I_d -> T) (low high : 'I_d -> option R).
Variables (stage : Type) (F : stage -> {set 'I_d}) (D : stage -> 'I_d -> R) (k : nat) (m : R).
Implicit Types (I E S : {set T}) (w x : 'cV[R]_d) (t : R).

Definition in_box j (t : R) : bool :=
  (if low j is Some l then l <= t else true) && (if high j is Some u then t <= u else true).
Definition allowed S x := (forall j, group j \notin S -> x j 0 = 0) /\ forall j, in_box j (x j 0).

(* The gain is largest at t in the box: its derivative there is zero, or points out of the box. *)
Definition peak j curvature slope (t : R) := let s := slope - curvature * t in
  [&& 0 <= curvature, (s <= 0) || (high j == Some t) & (0 <= s) || (low j == Some t)].

Lemma peak_gain j curvature slope t t' : peak j curvature slope t -> in_box j t' ->
  gain curvature slope t' <= gain curvature slope t.
Proof.
case/and3P=> D0 top bottom /andP[above below].
have : 0 <= (slope - curvature * t) * (t - t').
  case: (ltrgt0P (slope - curvature * t)) top bottom => [s0|s0|->] /= top bottom; last by rewrite mul0r.
    by move: below; rewrite (eqP top) => below; rewrite mulr_ge0 ?(ltW s0) // subr_ge0.
  by move: above; rewrite (eqP bottom) => above; rewrite nmulr_rge0 // subr_le0.
move=> P; apply: le_by (addr_ge0 P (mulr_ge0 (mulr_ge0 half_ge0 D0) (sqr_ge0 (t - t')))) _; rewrite /gain.
by to_ring R; field; exact: two_neq0.
Qed.

Lemma peak_without_box j curvature slope : 0 < curvature -> peak j curvature slope (slope / curvature) /\
  gain curvature slope (slope / curvature) = slope ^+ 2 / (2%:R * curvature).
Proof.
move=> D0; rewrite /peak mulrC divfK ?gt_eqF // subrr lexx ltW //; split=> //.
by rewrite /gain; to_ring R; field; split; [apply/eqP; rewrite gt_eqF | exact: two_neq0].
Qed.

(* A bound by w, with points t of largest gain; or the value of a fit, on I if |I| = k, else on all outside E *)
Inductive leaf := Bound of stage & 'cV[R]_d & 'cV[R]_d & R | Value of 'cV[R]_d.

Definition claim l I E : bool := match l with
  | Bound s w t limit =>
    let H u := \sum_(j | group j == u) gain (D s j) (slopes b G (D s) w j 0) (t j 0) in
    [&& 0 <= limit, [forall j, (j \in F s) || (group j \in E) && (w j 0 == 0)],
        [forall j, (group j \in E) || peak j (D s j) (slopes b G (D s) w j 0) (t j 0)] &
        m <= base a G (D s) w - largest_sum H k I E limit]
  | Value x => let A := if (k <= #|I|)%N then I else ~: E in
    [forall j, if group j \in A then (G *m x) j 0 == b j 0 else x j 0 == 0] && (m <= quadratic a b G x)
  end.

Hypotheses (symmetric : G^T = G) (psd : semidefinite setT G).
Hypothesis stages : forall s, semidefinite (F s) (G - diagonal (D s)).

Lemma claim_sound l I E S x : claim l I E -> in_node k I E S -> allowed S x -> m <= quadratic a b G x.
Proof.
case: l => [s w t limit|z] /= ok node [xS box]; have /and3P[IS SE Sk] := node; last first.
  case/andP: ok => /forallP ok /le_trans; apply; set A := if _ then _ else _ in ok.
  have SA : S \subset A.
    rewrite /A; case: ifP => kI; last by rewrite -disjoints_subset.
    by have /eqP<- : I == S by rewrite eqEcard IS (leq_trans Sk).
  pose B := [set j | group j \in A].
  apply: (@value_bound _ _ _ _ symmetric B) => // j; rewrite inE => jA; have := ok j; rewrite ?jA ?(negbTE jA);
    [by move/eqP | by move/eqP | by move=> _; rewrite xS //; apply: contra jA => /(subsetP SA)].
case/and4P: ok => limit0 /forallP in_F /forallP peaks /le_trans; apply.
pose Sd := [set j | group j \in S]; pose h j := gain (D s j) (slopes b G (D s) w j 0) (t j 0).
set H := fun u => _; apply: (@le_trans _ _ (base a G (D s) w - \sum_(j in Sd) h j)).
  rewrite ler_add2l ler_opp2; apply: le_trans (largest_sum_bound H limit0 node).
  rewrite (partition_big group (mem S)) /= => [|j]; last by rewrite inE.
  apply: ler_sum => u uS; rewrite le_eqVlt; apply/orP/or_introl/eqP/eq_bigl => j.
  by rewrite inE; case: eqP => [->|]; rewrite ?andbF ?uS.
have out j : j \notin F s -> group j \in E /\ w j 0 = 0.
  by have := in_F j; case: (j \in F s) => //= /andP[jE /eqP].
apply: (leaf_bound a (h := h) symmetric (@stages s)) => [j /out[]//|j /out[jE _]|j|j].
- by rewrite xS //; apply: contraL jE => jS; rewrite (disjointFr SE).
- by rewrite inE => /xS.
- by rewrite inE => jS; have := peaks j; rewrite (disjointFr SE) //= => /peak_gain; exact.
Qed.

Theorem certificate_sound forced (tr : tree T leaf) : proves claim k tr forced set0 ->
  forall S x, forced \subset S -> (#|S| <= k)%N -> allowed S x -> m <= quadratic a b G x.
Proof.
move=> ok S x fS Sk xS; pose P S := forall x, allowed S x -> m <= quadratic a b G x.
suff : P S by exact.
apply: covering ok _ _ => [l I E S' ok node x' x'S|]; first exact: claim_sound ok node x'S.
by rewrite /in_node fS Sk -setI_eq0 setI0 eqxx.
Qed.
End Certificate.
End Forms.
