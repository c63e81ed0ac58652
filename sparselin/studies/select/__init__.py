"""The command `sparselin select`: select features of a table, and explain the selection."""
