"""The parts that the studies share: the group of commands, options, reading of tables, pages and folders."""
