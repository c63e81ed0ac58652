"""Linear attention: descent on w∘θ, Sequential Attention, and the penalty Q* that a softmax mask induces."""
