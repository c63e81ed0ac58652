"""QR factorisations that are updated column by column, error bounds, and products with X."""
