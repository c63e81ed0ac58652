"""Linear attention: Hadamard (w∘θ) descent, Sequential Attention, and the penalty Q* that softmax induces."""
