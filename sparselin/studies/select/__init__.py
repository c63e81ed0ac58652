"""Features of one's own table, selected and explained: the command `select`."""
