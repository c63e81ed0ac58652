"""The estimators of networks for scikit-learn; `sparselin.estimators` lists them with the others."""
