from .attention import SequentialAttention as SequentialAttention
from .embeddings import EmbeddedColumns as EmbeddedColumns
from .gains import marginal_gains as marginal_gains
from .masks import FeatureMask as FeatureMask
from .networks import SkipNetwork as SkipNetwork
from .networks import mlp as mlp
from .training import NonFiniteLoss as NonFiniteLoss
