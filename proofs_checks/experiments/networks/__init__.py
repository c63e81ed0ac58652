"""The experiments of two papers with neural networks, Sequential Attention and LassoNet, computed again."""
