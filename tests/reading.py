"""Read a table with options as on the command line, and find the options that a message proposes."""

import re
import shlex

import click

from sparselin.studies.common import tables
from sparselin.studies.select.reading import reading_options


@click.command()
@click.option("--numbers", multiple=True)
@reading_options
def _parse(reading, numbers):
    return reading, numbers


def read_with(path, options=()):
    """The table in a file, read with these options of the command."""
    reading, numbers = _parse.main(list(options), standalone_mode=False)
    table = tables.read_table(path, reading)
    return tables.with_numbers(table, tables.split(numbers, list(table.frame)), reading)


def proposals(message):
    """The options that a message proposes: a list of arguments for each alternative.

    Options that follow each other, as in "--header 0 --skip 1", belong together.
    """
    option = r"--[a-z][a-z-]+ (?:'[^']+'|[^\s;]+)"
    return [_arguments(group) for group in re.findall(rf"{option}(?: {option})*", message)]


def _arguments(text):
    found = []
    for word in shlex.split(text):
        ends = len(word) > 1 and word[-1] in ".,:" and word[-2] != "="
        found.append(word[:-1] if ends else word)
    return found
