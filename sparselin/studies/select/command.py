"""The command `sparselin select`: its options, and the steps of a run."""

import contextlib
import functools
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from sparselin.studies.common import command
from sparselin.studies.common.folder import table_of_report
from sparselin.studies.common.tables import BadTable, ReadingOptions, is_parquet, is_text, split
from sparselin.studies.select.data import MISSING, read
from sparselin.studies.select.options import METHODS
from sparselin.studies.select.reading import NAMES as READING
from sparselin.studies.select.reading import reading_options

# print text as it is: the name of a column may look like rich's markup
PLAIN: dict[str, Any] = {"markup": False, "highlight": False}


def _folds(context: click.Context, option: click.Parameter, value: int) -> int:
    if value == 1:
        raise click.BadParameter("must be 0 (no cross-validation) or at least 2; got 1")
    return value


_names_option = functools.partial(click.option, multiple=True, metavar="NAME,NAME")


@click.command(short_help="Select features of a table of data.", context_settings={"show_default": True})
@click.argument("table", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--target", help="The column to explain.  [default: the last column]")
@click.option(
    "--k",
    type=click.IntRange(1),
    help="The number of features, including the forced ones; required for best-subset.  "
    "[default: chosen by cross-validation]",
)
@click.option("--method", type=click.Choice(list(METHODS)), default="omp", help="The selection method.")
@_names_option(
    "--forced",
    help="Columns to select first, in this order. Put a name that contains a comma in double quotes.",
)
@_names_option("--drop", help="Columns to leave out, in the same form.")
@_names_option(
    "--numbers",
    help="Columns to use as numbers, even if they look like identifiers. Currencies and units are removed, "
    "and texts that are no numbers count as missing.",
)
@_names_option(
    "--categories",
    help="Columns to use as categories, such as codes or texts of which few repeat. In a column with one "
    "value, empty cells count as a second one.",
)
@click.option(
    "--loss",
    type=click.Choice(["squared", "logistic", "poisson"]),
    help="The loss; logistic and poisson need --method omp.  [default: logistic if the target has two "
    "values, else squared]",
)
@click.option(
    "--reference",
    multiple=True,
    metavar="NAME=VALUE",
    help="The value of a category with which its other values are compared; may be repeated.  "
    "[default: the most frequent value]",
)
@click.option("--weights", metavar="NAME", help="The column that holds the weight (≥ 0) of each row.")
@click.option("--group", metavar="NAME", help="The column of groups that stay in one fold.")
@reading_options
@click.option(
    "--intercept/--no-intercept",
    default=True,
    help="Fit an unpenalised constant as well. R² is then measured from the mean.",
)
@click.option(
    "--standardize/--no-standardize",
    default=True,
    help="Divide columns by their standard deviations. Coefficients stay in the units of the data.",
)
@click.option(
    "--missing",
    type=click.Choice(MISSING),
    default="auto",
    help="Fill gaps within each fold (indicator: and add a column that is 1 where a number was missing), "
    "drop the rows that have one, or refuse the table. auto: drop the rows if they are fewer than 5 %, else "
    "fill.",
)
@click.option(
    "--folds",
    type=click.IntRange(0),
    default=10,
    callback=_folds,
    help="The number of folds of cross-validation; 0: no cross-validation.",
)
@click.option(
    "--inference",
    type=click.Choice(["none", "split"]),
    default="none",
    help="split: select anew on half of the rows, and print p-values and intervals of the other half.",
)
@click.option(
    "--one-pass/--in-memory",
    "one_pass",
    default=None,
    help="Read a .parquet once, in chunks; requires --k.  "
    "[default: one pass if the table would fill more than an eighth of the memory]",
)
@click.option(
    "--held-out",
    type=click.IntRange(0),
    default=10,
    help="One pass only: hold out every N-th row to check the selection; 0: none.",
)
@click.option(
    "--skip-bad", is_flag=True, help="One pass only: skip chunks that cannot be used, and list them."
)
@click.option(
    "--checkpoint",
    type=command.NewPath(dir_okay=False, path_type=Path),
    help="One pass only: a file from which an interrupted pass can resume.",
)
@click.option(
    "--memory",
    type=click.IntRange(1),
    metavar="BYTES",
    help="One pass only: memory for chunks and factors.  [default: 256 MiB, more for many columns]",
)
@command.seed_option
@click.option(
    "--output",
    type=command.NewPath(file_okay=False, path_type=Path),
    help="The folder for index.html, selected.csv and .tex, results.json and the figures.  "
    "[default: report/select/NAME for the table NAME.csv]",
)
def select(
    table: Path,
    target: str | None,
    k: int | None,
    method: str,
    forced: tuple[str, ...],
    drop: tuple[str, ...],
    numbers: tuple[str, ...],
    categories: tuple[str, ...],
    loss: str | None,
    reference: tuple[str, ...],
    weights: str | None,
    group: str | None,
    reading: ReadingOptions,
    intercept: bool,
    standardize: bool,
    missing: str,
    folds: int,
    inference: str,
    one_pass: bool | None,
    seed: int,
    output: Path | None,
    **of_one_pass: Any,
) -> None:
    """Select the features of a TABLE that explain one of its columns.

    TABLE is a .csv, .tsv or .txt with the names of the columns, an .xlsx or a .parquet. A text may use
    semicolons, tabs, bars or blanks instead of commas, decimal commas, an encoding other than UTF-8, and may
    be compressed (.csv.gz); titles and comments above the names are left out. Texts
    become categories, dates and identifiers are left out, and gaps are filled or their rows dropped. The
    command says what it did with each column, and names values that look like codes of missing ones.

    \b
    sparselin select diabetes.csv --target progression --k 5
    sparselin select diabetes.csv --target progression --forced age,sex
    sparselin select patients.xlsx --target ill --group hospital
    sparselin select big.parquet --target y --k 20 --one-pass

    The command prints the features in the order of selection. For each feature it prints the coefficient,
    the margin of the decision, and R² up to that step. It also writes a page with figures. Without --k,
    cross-validation chooses the smallest number of features whose error is within one standard error of the
    least error.

    Exit status: 0 if done, 2 if the table or an option cannot be used, 130 if interrupted.
    """
    output = _report_folder(table) if output is None else output
    if not is_text(table):
        command.refuse(("encoding", "separator"), "a table that is not a text")
        command.refuse(READING if is_parquet(table) else (), "a Parquet file")
    if is_text(table):
        command.refuse(("sheet",), "a table that is not a workbook")
    if _in_one_pass(table, one_pass):
        from sparselin.studies.select.one_pass import request as one_pass_request
        from sparselin.studies.select.one_pass import run as run_one_pass

        one = one_pass_request(
            table,
            target,
            forced,
            drop,
            categories,
            weights,
            intercept=intercept,
            standardize=standardize,
            **of_one_pass,
        )
        command.refuse(("inference", "reference"), "a table in one pass")

        run_one_pass(one, method, k, seed, output, command.command_line())
    command.refuse(tuple(of_one_pass), "a table in memory; add --one-pass")
    console, started = command.Terminal(), time.perf_counter()
    special = {"--weights": weights, "--group": group}
    lists = {"--drop": drop, "--forced": forced, "--numbers": numbers, "--categories": categories}
    with usage_errors():
        data = read(table, target, special, lists, _check_loss(loss, method), missing, reading, reference)
        first = tuple(split(forced, data.columns.names))
    # The rest takes seconds to load, and a typo should be answered at once.
    from sparselin.studies.select.run import run

    request = {
        "method": method,
        "intercept": intercept,
        "standardize": standardize,
        "forced": first,
        "seed": seed,
    }
    if target is None:
        console.print(
            f"The target y is {data.target}, the last column. Use --target to choose another.", **PLAIN
        )
    for line in data.table.notes.sentences():
        console.print(line, **PLAIN)
    with usage_errors(f"{table}: ", output):
        run(console, data, request, k=k, folds=folds, inference=inference, output=output, started=started)


def _report_folder(table: Path) -> Path:
    """Return the default folder of the report about a table, report/select/NAME.

    NAME is the name of the table without .csv or .gz, or with them if only points are left, as of `...csv`:
    `report/select/..` would be another folder. Raises click.UsageError if the folder holds the report about
    another file of this name.
    """
    name = Path(table.name.removesuffix(".gz")).stem
    output = Path("report/select", name if name.strip(".") else table.name)
    earlier = table_of_report(output)
    if earlier and Path(earlier).resolve() != table.resolve():
        raise click.UsageError(
            f"{output} holds the report about {earlier}, and the report about {table} would replace it: "
            "choose another folder with --output"
        )
    return output


def _in_one_pass(table: Path, one_pass: bool | None) -> bool:
    """Return whether to read the table in one pass: on request, or by default if the table is large.

    Raises click.UsageError for a .csv.
    """
    if one_pass and not is_parquet(table):
        raise click.UsageError(f"--one-pass needs a .parquet; got {table}")
    if one_pass is not None or not is_parquet(table):
        return bool(one_pass)
    from sparselin.studies.select.one_pass import is_large

    return is_large(table)


def _check_loss(loss: str | None, method: str) -> str | None:
    """Return the loss for a method: None, if it may depend on the target, only for OMP."""
    if method == "omp":
        return loss
    if loss not in (None, "squared"):
        raise click.BadParameter(f"needs --method omp; got --method {method}", param_hint="--loss")
    return "squared"


@contextlib.contextmanager
def usage_errors(start: str = "", output: Path | None = None) -> Iterator[None]:
    """Inside a `with` block, raise click.UsageError for an error in the data.

    start : the beginning of the message of errors other than BadTable.
    output : a folder that is removed if it is empty.
    """
    try:
        yield
    except BadTable as error:
        text = str(error)
        raise click.UsageError(text if text.endswith(("?", ".")) else f"{text}.") from None
    except (ValueError, TypeError, MemoryError) as error:
        if output is not None:
            with contextlib.suppress(OSError):
                output.rmdir()
        raise click.UsageError(f"{start}{error}") from None
