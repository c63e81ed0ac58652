"""The estimators and where they live. A line here exports a name; type checkers read the same lines."""

# of networks, which need PyTorch; they live in a room above, and these lines can be deleted with it
from ..neural.estimators.attention import SequentialAttentionClassifier as SequentialAttentionClassifier
from ..neural.estimators.attention import SequentialAttentionRegressor as SequentialAttentionRegressor
from ..neural.estimators.lassonet import LassoNetClassifier as LassoNetClassifier
from ..neural.estimators.lassonet import LassoNetClassifierCV as LassoNetClassifierCV
from ..neural.estimators.lassonet import LassoNetRegressor as LassoNetRegressor
from ..neural.estimators.lassonet import LassoNetRegressorCV as LassoNetRegressorCV

# the best subset
from .best_subset import BestSubsetRegressor as BestSubsetRegressor
from .best_subset import BestSubsetSelector as BestSubsetSelector

# cross-validation
from .cross_validation import cross_validate as cross_validate

# in place of scikit-learn's
from .lasso_lars import LassoLars as LassoLars
from .lasso_lars import LassoLarsCV as LassoLarsCV
from .lasso_lars import LassoLarsIC as LassoLarsIC

# in place of scikit-learn's
from .orthogonal_matching_pursuit import OrthogonalMatchingPursuit as OrthogonalMatchingPursuit
from .orthogonal_matching_pursuit import OrthogonalMatchingPursuitCV as OrthogonalMatchingPursuitCV

# on the features of a path
from .regressors import OLSRegressor as OLSRegressor
from .regressors import SequentialLassoRegressor as SequentialLassoRegressor

# selectors
from .selectors import DiverseSelector as DiverseSelector
from .selectors import LassoSelector as LassoSelector
from .selectors import OLSSelector as OLSSelector
from .selectors import OMPSelector as OMPSelector
from .selectors import SequentialAttentionSelector as SequentialAttentionSelector
from .selectors import SequentialLassoSelector as SequentialLassoSelector

# optimizers for pysindy, which they need
from .sindy import BestSubsetOptimizer as BestSubsetOptimizer
from .sindy import OLSOptimizer as OLSOptimizer
from .sindy import OMPOptimizer as OMPOptimizer
from .sindy import choose_terms as choose_terms
