"""The estimators and where they live. A line here exports a name; type checkers read the same lines."""

# the best subset
from .best_subset import BestSubsetRegressor as BestSubsetRegressor
from .best_subset import BestSubsetSelector as BestSubsetSelector

# cross-validation
from .cross_validation import cross_validate as cross_validate

# in place of scikit-learn's
from .lasso_lars import LassoLars as LassoLars
from .lasso_lars import LassoLarsCV as LassoLarsCV
from .lasso_lars import LassoLarsIC as LassoLarsIC

# of networks, which need PyTorch
from .network_attention import SequentialAttentionClassifier as SequentialAttentionClassifier
from .network_attention import SequentialAttentionRegressor as SequentialAttentionRegressor
from .network_lassonet import LassoNetClassifier as LassoNetClassifier
from .network_lassonet import LassoNetClassifierCV as LassoNetClassifierCV
from .network_lassonet import LassoNetRegressor as LassoNetRegressor
from .network_lassonet import LassoNetRegressorCV as LassoNetRegressorCV

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
