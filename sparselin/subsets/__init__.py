"""The best subset of features: the searches that prove it, its certificate, and all nearly best subsets."""
