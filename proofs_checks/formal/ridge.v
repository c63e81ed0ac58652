(* The objective of best subsets, |y - Xx|²/2 + rho|x|²/2, as a quadratic form; weights and an intercept; one vector
   as a bound; and how X'X + rho - D is proved to be positive semidefinite.

   |u|² = <u, Au>: A = I without weights, and a diagonal matrix with them. *)
From mathcomp Require Import all_ssreflect all_algebra.
From sparselin Require Import ordered_field inner_product lasso subsets.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.POrderTheory Order.TotalTheory.
Local Open Scope ring_scope.

Section Ridge.
Variable R : realFieldType.
Add Field R_field : (ordered_field_field R).

Section Data.
Variables (n d : nat) (A : 'M[R]_n) (X : 'M[R]_(n, d)) (y : 'cV[R]_n) (rho : R).
Implicit Types (u : 'cV[R]_n) (w x : 'cV[R]_d).

Definition ridge_objective x : R :=
  2%:R^-1 * dot (y - X *m x) (A *m (y - X *m x)) + 2%:R^-1 * rho * sq x.
Definition constant : R := 2%:R^-1 * dot y (A *m y).
Definition moments : 'cV[R]_d := X^T *m (A *m y).
Definition gram : 'M[R]_d := X^T *m (A *m X) + rho%:M.

Lemma dot_gram v : dot v (gram *m v) = dot (X *m v) (A *m (X *m v)) + rho * sq v.
Proof. by rewrite mulmxDl mul_scalar_mx dotDr dotZr -!mulmxA dot_adjoint trmxK. Qed.

Lemma slopes_of_data D w j : slopes moments gram D w j 0 =
  corr X (A *m (y - X *m w)) j - rho * w j 0 + D j * w j 0.
Proof.
rewrite corrE /slopes /moments /gram mulmxBl mulmxDl mul_scalar_mx -!mulmxA !mulmxBr opprB opprD.
by rewrite mul_diag_mx !mxE addrCA !addrA [RHS]addrAC.
Qed.

Hypotheses (symmetric : A^T = A) (psd : semidefinite setT A) (rho0 : 0 <= rho).

Lemma gram_symmetric : gram^T = gram.
Proof. by rewrite linearD /= tr_scalar_mx !trmx_mul trmxK symmetric -mulmxA. Qed.

Lemma gram_semidefinite : semidefinite setT gram.
Proof. by move=> v _; rewrite dot_gram addr_ge0 ?mulr_ge0 ?sq_ge0 ?nonnegative. Qed.

Theorem ridge_quadratic x : ridge_objective x = quadratic constant moments gram x.
Proof.
rewrite /ridge_objective /quadratic dot_gram mulmxBr !dotBr !dotBl /constant /moments.
rewrite (dotC _ x) [dot x (X^T *m _)]dot_adjoint trmxK [dot y (A *m (X *m x))]dot_adjoint symmetric.
rewrite (dotC (A *m y)); move: (dot y _) (dot (X *m x) _) (dot (X *m x) _) (sq x) => p q r s.
by to_ring R; field; exact: two_neq0.
Qed.

(* |r|²/2 >= <u, r> - |u|²/2 for one vector u, and the ridge is the curvature. *)
Theorem vector_bound (S : {set 'I_d}) u (h : 'I_d -> R) x : zero_off S x ->
  (forall j, j \in S -> gain rho (corr X (A *m u) j) (x j 0) <= h j) ->
  dot u (A *m y) - 2%:R^-1 * dot u (A *m u) - \sum_(j in S) h j <= ridge_objective x.
Proof.
move=> xS le_h; have := sum_gain (D := fun=> rho) xS le_h.
have -> : \sum_j gain rho (corr X (A *m u) j) (x j 0) = dot (A *m u) (X *m x) - 2%:R^-1 * rho * sq x.
  rewrite dot_mul mulr_sumr -sumrB; apply: eq_bigr => j _.
  by rewrite /gain expr2 [corr _ _ _ * _]mulrC.
have := nonnegative (y - X *m x - u) psd.
have {3}-> : y = (y - X *m x) + X *m x by rewrite subrK.
rewrite /ridge_objective; move: (y - X *m x) => r.
rewrite !mulmxBr !mulmxDr !dotBr !dotBl !dotDr !(dot_adjoint A u) symmetric (dotC r (A *m u)) => P.
rewrite -subr_ge0 => Q; rewrite -subr_ge0; apply: le_by (addr_ge0 (mulr_ge0 (half_ge0 R) P) Q) _.
move: (dot (A *m u) _) (dot (A *m u) _) (dot (A *m u) _) (dot r _) (sq x) (\sum_(j in S) _) => p q s t z.
by move=> sum; to_ring R; field; exact: two_neq0.
Qed.
End Data.

(* With weights W and an intercept c: c is best at the mean <1, W(y - Xx)>/<1, W1>, which centres y and X. *)
Section Intercept.
Variables (n d : nat) (W : 'M[R]_n) (X : 'M[R]_(n, d)) (y : 'cV[R]_n) (rho : R).
Definition ones : 'cV[R]_n := const_mx 1.
Definition mean (u : 'cV[R]_n) : R := dot ones (W *m u) / dot ones (W *m ones).
Definition centring : 'M[R]_n := 1%:M - (dot ones (W *m ones))^-1 *: (ones *m (ones^T *m W)).

Lemma centring_mean u : centring *m u = u - mean u *: ones.
Proof.
rewrite mulmxBl mul1mx -scalemxAl -!mulmxA [_^T *m _]mx11_scalar mul_mx_scalar scalerA mulrC /mean.
by congr (_ - _ / _ *: _); rewrite mxE; apply: eq_bigr => k _; rewrite mxE.
Qed.

Hypotheses (symmetric : W^T = W) (positive : 0 < dot ones (W *m ones)).

Theorem intercept_centres x :
  (forall c, ridge_objective W (centring *m X) (centring *m y) rho x
    <= ridge_objective W X (y - c *: ones) rho x) /\
  exists c, ridge_objective W (centring *m X) (centring *m y) rho x = ridge_objective W X (y - c *: ones) rho x.
Proof.
rewrite /ridge_objective -mulmxA -mulmxBr centring_mean; split=> [c|]; last first.
  by exists (mean (y - X *m x)); rewrite [y - _ - _]addrAC.
rewrite [y - c *: _ - _]addrAC ler_add2r ler_wpmul2l ?half_ge0 //; move: (y - X *m x) => u.
apply: le_by (mulr_ge0 (ltW positive) (sqr_ge0 (c - mean u))) _.
rewrite !mulmxBr -!scalemxAr !dotBr !dotBl !dotZl !dotZr (dot_symmetric u ones) // /mean.
move: positive (dot u _) (dot ones (W *m u)); set s := dot _ _ => s0 p q.
by to_ring R; field; apply/eqP; exact: lt0r_neq0.
Qed.
End Intercept.

(* For a matrix Q near X and 0 < e: |Xv|² >= (1 - e)|Qv|² - (1/e - 1)|(X - Q)v|², since |eQv + (X - Q)v|² >= 0. *)
Section Rounding.
Variables (n d : nat) (A : 'M[R]_n).
Implicit Types (X : 'M[R]_(n, d)) (F : {set 'I_d}) (M : 'M[R]_d) (D : 'I_d -> R).

Lemma rounded_columns X Q (e : R) v : A^T = A -> semidefinite setT A -> 0 < e ->
  (1 - e) * dot (Q *m v) (A *m (Q *m v)) - (e^-1 - 1) * dot ((X - Q) *m v) (A *m ((X - Q) *m v))
  <= dot (X *m v) (A *m (X *m v)).
Proof.
move=> symmetric psd e0; have -> : X *m v = Q *m v + (X - Q) *m v by rewrite -mulmxDl addrC subrK.
move: (Q *m v) ((X - Q) *m v) => p r.
apply: le_by (mulr_ge0 (nonnegative (e *: p + r) psd) (ltW _ : 0 <= e^-1)) _; first by rewrite invr_gt0.
rewrite !mulmxDr -scalemxAr !dotDr !dotDl !dotZl !dotZr (dot_symmetric r p) //.
move: (dot p _) (dot p _) (dot r _) => s t z; to_ring R; field; apply/eqP; exact: lt0r_neq0.
Qed.

Lemma weights_semidefinite m (weights : 'I_m -> R) : (forall k, 0 <= weights k) ->
  (diagonal weights)^T = diagonal weights /\ semidefinite setT (diagonal weights).
Proof.
move=> w0; rewrite /diagonal tr_diag_mx; split=> // v _; rewrite dot_diagonal sumr_ge0 // => k _.
by rewrite -mulrA mulr_ge0 // -expr2 sqr_ge0.
Qed.

(* |Ev|² is at most the sum of the weighted squares of the entries of E, times |v|². *)
Lemma frobenius (weights : 'I_n -> R) E (v : 'cV[R]_d) : (forall k, 0 <= weights k) ->
  dot (E *m v) (diagonal weights *m (E *m v)) <= (\sum_k weights k * sq (row k E)^T) * sq v.
Proof.
move=> w0; rewrite dot_diagonal mulr_suml; apply: ler_sum => k _; rewrite -!mulrA ler_wpmul2l //.
have -> : (E *m v) k 0 = dot (row k E)^T v by rewrite mxE; apply: eq_bigr => j _; rewrite !mxE.
exact: cauchy_schwarz.
Qed.

(* A symmetric matrix that is diagonally dominant on F is semidefinite there. *)
Definition dominant F M := [forall j in F, \sum_(i in F | i != j) `|M j i| <= M j j].

Theorem dominant_semidefinite F M : M^T = M -> dominant F M -> semidefinite F M.
Proof.
move=> symmetric /forall_inP dom v vF.
pose U j i := (if i == j then M j j else - `|M j i|) * v j 0 ^+ 2.
have -> : dot v (M *m v) = \sum_(j in F) \sum_(i in F) v j 0 * M j i * v i 0.
  rewrite /dot (bigID (mem F)) /= [Z in _ + Z]big1 ?addr0 => [|j jF]; last by rewrite vF ?mul0r.
  apply: eq_bigr => j _; rewrite mxE mulr_sumr (bigID (mem F)) /= [Z in _ + Z]big1 ?addr0 => [|i iF].
    by apply: eq_bigr => i _; rewrite mulrA.
  by rewrite (vF i) // !mulr0.
have U0 : 0 <= \sum_(j in F) \sum_(i in F) U j i.
  apply: sumr_ge0 => j jF; rewrite -mulr_suml mulr_ge0 ?sqr_ge0 // (bigD1 j) //= eqxx.
  rewrite (eq_bigr (fun i => - `|M j i|)) => [|i /andP[_ /negbTE->]//].
  by rewrite sumrN subr_ge0 dom.
have : 0 <= 2%:R^-1 * (\sum_(j in F) \sum_(i in F) U j i + \sum_(j in F) \sum_(i in F) U i j).
  by rewrite [X in _ + X]exchange_big /= mulr_ge0 ?half_ge0 ?addr_ge0.
move/le_trans; apply; rewrite -big_split mulr_sumr; apply: ler_sum => j _.
rewrite -big_split mulr_sumr; apply: ler_sum => i _ /=; rewrite /U eq_sym.
have -> : M i j = M j i by rewrite -[in LHS]symmetric mxE.
case: eqP => [->|_]; first by apply: le_by (lexx 0) _; to_ring R; field; exact: two_neq0.
have [M0|M0] := ger0P (M j i).
  apply: le_by (mulr_ge0 (mulr_ge0 (half_ge0 R) M0) (sqr_ge0 (v j 0 + v i 0))) _.
  by to_ring R; field; exact: two_neq0.
rewrite opprK; rewrite -oppr_gt0 in M0.
apply: le_by (mulr_ge0 (mulr_ge0 (half_ge0 R) (ltW M0)) (sqr_ge0 (v j 0 - v i 0))) _.
by to_ring R; field; exact: two_neq0.
Qed.

(* X'X + rho - D is semidefinite on F if D <= rho there, or if this matrix is dominant there, for a rounded matrix Q
   with |(X - Q)v|² <= f|v|² and any L. *)
Definition shifted l Q (L : 'M[R]_(d, l)) (rho e f : R) D : 'M[R]_d :=
  (1 - e) *: (Q^T *m (A *m Q)) - L *m L^T + diagonal (fun j => rho - (e^-1 - 1) * f - D j).

Lemma curvature_of_ridge X rho D F : semidefinite setT A -> (forall j, j \in F -> D j <= rho) ->
  semidefinite F (gram A X rho - diagonal D).
Proof.
move=> psd le_rho v vF; rewrite mulmxBl dotBr dot_gram -addrA addr_ge0 ?nonnegative //.
rewrite dot_diagonal mulr_sumr -sumrB sumr_ge0 // => j _; rewrite -mulrA -mulrBl -expr2.
have [jF|jF] := boolP (j \in F); first by rewrite mulr_ge0 ?sqr_ge0 // subr_ge0 le_rho.
by rewrite vF // expr0n mulr0.
Qed.

Theorem curvature_proved l X Q (L : 'M[R]_(d, l)) rho e f D F : A^T = A -> semidefinite setT A ->
  0 < e -> e <= 1 -> (forall v, dot ((X - Q) *m v) (A *m ((X - Q) *m v)) <= f * sq v) ->
  dominant F (shifted Q L rho e f D) -> semidefinite F (gram A X rho - diagonal D).
Proof.
move=> symmetric psd e0 e1 le_f dom v vF; set s := shifted _ _ _ _ _ _ in dom.
have sym : s^T = s.
  rewrite /s /shifted linearD linearB linearZ /= tr_diag_mx !trmx_mul !trmxK symmetric.
  by rewrite mulmxA.
have := dominant_semidefinite sym dom vF; rewrite /s /shifted.
rewrite mulmxDl mulmxBl -scalemxAl dotDr dotBr dotZr -!mulmxA !(dot_adjoint (_^T)) trmxK (dot_adjoint L).
have -> : dot v (diagonal (fun j => rho - (e^-1 - 1) * f - D j) *m v)
    = rho * sq v - (e^-1 - 1) * (f * sq v) - dot v (diagonal D *m v).
  move: (e^-1 - 1) => g; rewrite !dot_diagonal !mulr_sumr -!sumrB; apply: eq_bigr => j _.
  by move: (v j 0) (D j) => p q; to_ring R; ring.
move/le_trans; apply; rewrite mulmxBl dotBr dot_gram addrA ler_add2r addrCA [Z in _ <= Z]addrC ler_add2l.
apply: le_trans (rounded_columns X Q v symmetric psd e0).
rewrite addrAC ler_subl_addr ler_paddr ?sq_ge0 // ler_add2l ler_opp2.
by rewrite ler_wpmul2l ?le_f // subr_ge0 invf_ge1.
Qed.
End Rounding.
End Ridge.
