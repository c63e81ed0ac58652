"""The features of a table of data: one interface for all methods, how many to take, and what to beware of."""
