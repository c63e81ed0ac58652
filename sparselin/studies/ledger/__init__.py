"""The ledger as a page and a command: `ledger`."""
