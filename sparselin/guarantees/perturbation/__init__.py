"""How far the data are from data with another selection: condition numbers, bounds on distances,
witnesses."""
