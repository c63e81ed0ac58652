"""Common to the studies: the group of commands, options, tables that are read, pages and their folder."""
