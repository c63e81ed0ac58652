"""Networks' methods, baselines and linear ones by one interface, and the accuracy of their picks."""
