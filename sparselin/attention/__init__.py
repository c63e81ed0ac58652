"""Linear attention: gradient descent on w∘θ, Sequential Attention, and the penalty of a softmax mask."""
