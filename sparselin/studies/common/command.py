"""Common to the commands: options, names, progress and Ctrl-C, the report's folder, the exit status."""

from __future__ import annotations

import contextlib
import errno
import os
import shlex
import signal
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NoReturn, TypeVar

import click
from click.core import ParameterSource
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Column

from sparselin.studies.common import folder

_Item = TypeVar("_Item")
# of a disk, also where compiled functions are kept
_FULL = (errno.ENOSPC, getattr(errno, "EDQUOT", None), errno.EFBIG)


@contextlib.contextmanager
def told_in_one_message() -> Iterator[None]:
    """End with 130 at an interrupt that no command handles, and in one message if there is no report."""
    try:
        yield
    except (folder.ReportError, OSError) as error:
        if isinstance(error, OSError) and error.errno not in _FULL:
            raise
        raise click.ClickException(str(error)) from None
    except KeyboardInterrupt:
        click.echo("Interrupted.", err=True)
        raise SystemExit(130) from None


HELP = {"help_option_names": ["-h", "--help"]}


class Alone(click.Command):
    """A command outside the group `sparselin`, as `python -m` runs it; its name is that line."""

    def invoke(self, ctx: click.Context) -> Any:
        with told_in_one_message():
            return super().invoke(ctx)


class NewPath(click.Path):
    """A file or a folder that is written. An empty text is refused: it would be the current folder."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not os.fspath(value):
            self.fail("the name is empty; the current folder is `.`", param, ctx)
        return super().convert(value, param, ctx)


seed_option = click.option(
    "--seed", type=click.IntRange(0), default=0, show_default=True, help="Of the random numbers."
)
jobs_option = click.option(
    "--jobs", type=click.IntRange(1), default=os.cpu_count() or 1, help="Processes.  [default: cores]"
)
target_option = click.option("--target", help="With a .csv: the column that is y.  [default: the last]")


def ensembles_option(known: Sequence[str], more: str = "") -> Callable[[Any], Any]:
    """--ensembles: see `chosen`."""
    words = f"Comma-separated: {', '.join(known)}{more}."
    return click.option("--ensembles", default="all", show_default=True, help=words)


def output_option(default: str, holds: str) -> Callable[[Any], Any]:
    """--output, with a default of its own for each command."""
    kind = NewPath(file_okay=False, path_type=Path)
    return click.option(
        "--output", type=kind, default=Path(default), show_default=True, help=f"Folder for {holds}."
    )


def design_option(words: str) -> Callable[[Any], Any]:
    """--design: see `saved_design`."""
    return click.option("--design", type=click.Path(exists=True, dir_okay=False, path_type=Path), help=words)


def watch(
    console: Console,
    name: str,
    total: int,
    stream: Iterator[_Item],
    take: Callable[[_Item], tuple[int, str]],
    stopped: str = "",
    alike: bool = True,
) -> bool:
    """Pass each item of a stream to `take`, under a progress bar; it returns a count and the bar's text.

    Ctrl-C closes the stream, prints `stopped` and returns True; the items taken so far remain. The bar says
    how much time remains if the items are alike, that is take about as long.
    """
    columns = (
        TextColumn("[progress.description]{task.description}"),
        BarColumn(),
        MofNCompleteColumn(table_column=Column(min_width=2 * len(str(total)) + 1, no_wrap=True)),
        *([TimeRemainingColumn(elapsed_when_finished=True)] if alike else []),
        TextColumn("{task.fields[state]}"),
    )
    with Progress(*columns, console=console) as progress, contextlib.closing(stream):  # type: ignore[type-var]
        bar = progress.add_task(name, total=total, state="")
        try:
            for item in stream:
                done, state = take(item)
                progress.update(bar, advance=done, state=state)
        except KeyboardInterrupt:
            if stopped:
                console.print(stopped)
            return True
    return False


def ignore_interrupts() -> None:
    """A second Ctrl-C must not cost the report."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def finish(console: Console, index: Path, interrupted: bool, failed: bool = False) -> NoReturn:
    """Say where the report is, and exit: 130 after Ctrl-C, 1 for what failed, else 0."""
    console.print(f"Report: {index}", soft_wrap=True, highlight=False)
    raise SystemExit(130 if interrupted else 1 if failed else 0)


def make_folder(output: Path, command: str, names: Iterable[str], inputs: Collection[Path] = ()) -> None:
    """Make the folder of a command's report, before the work that fills it.

    names, inputs : of the report, see `reports.folder.check`. Raises click.BadParameter for a folder that
    cannot be made or written into, or in which a file is in the way.
    """
    try:
        folder.check(output, command, names, inputs)
        output.mkdir(parents=True, exist_ok=True)
    except folder.ReportError as error:
        raise click.BadParameter(str(error), param_hint="--output") from None
    except OSError as error:
        raise click.BadParameter(f"cannot make {output}: {error.strerror}", param_hint="--output") from None
    if not os.access(output, os.W_OK):
        words = f"nothing can be written into {output}: choose another folder, or change its rights"
        raise click.BadParameter(words, param_hint="--output")


def chosen(ensembles: str, known: Sequence[str]) -> tuple[str, ...]:
    """The names of a list with commas, each once; "all" is all that are known."""
    return (
        tuple(known)
        if ensembles == "all"
        else listed(ensembles, known, ("ensemble", "ensembles"), "--ensembles")
    )


def listed(text: str, known: Sequence[str], kind: tuple[str, str], option: str) -> tuple[str, ...]:
    """The names of a list with commas, each once; of names that have commas themselves the longest.

    Raises click.BadParameter for one that is not known; `kind` is what it should be, one and several.

    >>> known = ("OMP", "group LASSO", "group LASSO, λ fixed")
    >>> listed("group LASSO, λ fixed, OMP", known, ("method", "methods"), "--methods")
    ('group LASSO, λ fixed', 'OMP')
    """
    parts = [part.strip() for part in text.split(",")]
    names: dict[str, None] = {}
    while parts:
        ends = [i for i in range(len(parts), 0, -1) if ", ".join(parts[:i]) in known]
        if not ends:
            separator = "; " if any("," in name for name in known) else ", "
            words = f"unknown {kind[0]} {parts[0]!r}; the {kind[1]} are {separator.join(known)}"
            raise click.BadParameter(words, param_hint=option)
        names[", ".join(parts[: ends[0]])] = None
        parts = parts[ends[0] :]
    return tuple(names)


def as_typed(without: Sequence[str] = ()) -> str:
    """The command line of the command that runs, without these options: it repeats the run."""
    context = click.get_current_context()
    words = context.command_path.split()
    for option in context.command.params:
        given = context.get_parameter_source(str(option.name)) is ParameterSource.COMMANDLINE
        if not given or option.name in without:
            continue
        value = context.params[str(option.name)]
        if isinstance(option, click.Argument):
            words.append(str(value))
        elif isinstance(value, bool):
            words.append(option.opts[0] if value else option.secondary_opts[0])
        else:
            for part in value if option.multiple else (value,):
                words += [option.opts[0], str(part)]
    return shlex.join(words)


def refuse(names: Sequence[str], reason: str) -> None:
    """Raise click.BadParameter if one of these options was given, since it would have no effect."""
    context = click.get_current_context()
    for name in names:
        if context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            hint = f"--{name.replace('_', '-')}"
            raise click.BadParameter(f"it has no effect with {reason}", param_hint=hint)
