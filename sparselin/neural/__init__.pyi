from .attention import SequentialAttention as SequentialAttention
from .masks import FeatureMask as FeatureMask
from .networks import SkipNetwork as SkipNetwork
from .networks import mlp as mlp
from .training import NonFiniteLoss as NonFiniteLoss
