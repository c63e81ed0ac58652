"""The parts that the commands share: options, progress bars, Ctrl-C, report folders, exit statuses."""

import contextlib
import errno
import functools
import os
import re
import shlex
import signal
import sys
import traceback
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NoReturn, TextIO, TypeAlias, TypeVar, cast

import click
from click.core import ParameterSource
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Column

from sparselin.ensembles import ENSEMBLES, BadEnsemble, from_file, of_random_size
from sparselin.results.display import printable
from sparselin.studies.common import folder

_Item = TypeVar("_Item")
# the errors of a full disk, for example where compiled functions are cached
_FULL = (errno.ENOSPC, getattr(errno, "EDQUOT", None), errno.EFBIG)
_LOST = "sparselin.output_lost"  # the entry of click's context that says that a part was not printed


@contextlib.contextmanager
def report_failures() -> Iterator[None]:
    """Inside a `with` block, end the program with a short message if a report cannot be written.

    After Ctrl-C the exit status is 130; it is 1 if the output could not be written. Control characters in
    messages are escaped.
    """
    try:
        yield
    except click.ClickException as error:
        error.message = _visible(error.message)  # type: ignore[misc]  # final for subclasses only
        raise
    except SystemExit as end:
        raise SystemExit(end.code or int(_is_lost())) from None
    except (folder.ReportError, OSError) as error:
        if isinstance(error, OSError) and error.errno not in _FULL:
            raise
        raise click.ClickException(str(error) + _where_full(error)) from None
    except KeyboardInterrupt:
        click.echo("Interrupted.", err=True)
        raise SystemExit(130) from None
    if _is_lost():
        raise SystemExit(1)


def _where_full(error: Exception) -> str:
    """Return the end of the message of a full disk: the folder of Numba's cache, if Numba could not write it.

    Such an error names no file, so the traceback shows who wrote.
    """
    caching = sys.modules.get("numba.core.caching")  # imported when something is compiled
    for frame, _ in traceback.walk_tb(error.__traceback__):
        cache = frame.f_locals.get("self")
        if caching is not None and isinstance(cache, caching.IndexDataCacheFile):
            return (
                f": compiled functions could not be stored in {cache._cache_path}. Free space there, or set "
                "NUMBA_CACHE_DIR to a folder on another disk."
            )
    return ""


def _is_lost() -> bool:
    """Return whether a part of the output could not be written."""
    context = click.get_current_context(silent=True)
    return context is not None and bool(context.meta.get(_LOST))


def _visible(text: str) -> str:
    """Return a text with its control characters escaped, apart from line breaks."""
    return "\n".join(map(printable, text.split("\n")))


class Terminal(Console):
    """The console of a command: a failing output never ends the command before its report is written.

    Characters that the encoding of the output lacks are replaced. If the output is closed (as by `| head`) or
    full, the rest is not printed, and the command goes on; a full output makes the exit status 1. Control
    characters in texts are escaped, apart from line breaks, because names of columns may have any.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(
            file=cast(TextIO, _Output(sys.stdout)), emoji=False, **options
        )  # :zero: may be a name

    def print(self, *objects: Any, **options: Any) -> None:
        """Print objects as rich does, with the control characters of texts escaped."""
        texts = [_visible(item) if isinstance(item, str) else item for item in objects]
        super().print(*texts, **options)


class _Output:
    """The standard output, whose errors are kept instead of raised.

    error : the error that ended the output, or None.
    """

    def __init__(self, file: TextIO) -> None:
        self._file = file
        self.error: OSError | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)

    def write(self, text: str) -> int:
        encoding = getattr(self._file, "encoding", None) or "utf-8"
        self._try(self._file.write, text.encode(encoding, "replace").decode(encoding))
        return len(text)

    def flush(self) -> None:
        self._try(self._file.flush)

    def _try(self, call: Callable[..., Any], *arguments: Any) -> None:
        if self.error is not None:
            return
        try:
            call(*arguments)
        except OSError as error:
            self.error = error
            _discard(self._file)
            if not isinstance(error, BrokenPipeError):
                click.echo(f"The output cannot be written: {error.strerror or error}.", err=True)
                if (context := click.get_current_context(silent=True)) is not None:
                    context.meta[_LOST] = True


def _discard(file: TextIO) -> None:
    """Send what is still written to a file nowhere, so that Python can close the file without an error."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, file.fileno())
        os.close(nowhere)


HELP = {"help_option_names": ["-h", "--help"]}


class Alone(click.Command):
    """A command outside the group `sparselin`. Its name is the line that runs it, such as `python -m …`."""

    def invoke(self, ctx: click.Context) -> Any:
        with report_failures():
            return super().invoke(ctx)


class NewPath(click.Path):
    """The path of an output on the command line.

    An empty text is refused, because it would mean the current folder.
    """

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not os.fspath(value):
            self.fail("the name is empty; for the current folder write `.`", param, ctx)
        return super().convert(value, param, ctx)


seed_option = click.option(
    "--seed", type=click.IntRange(0, 2**32 - 1), default=0, show_default=True, help="The random seed."
)
jobs_option = click.option(
    "--jobs", type=click.IntRange(1), default=os.cpu_count() or 1, help="Processes.  [default: all cores]"
)
force_option = click.option("--force", is_flag=True, help="Overwrite files in the folder.")
target_option = click.option("--target", help="The column of a .csv that is y.  [default: the last column]")


def ensembles_option(known: Sequence[str]) -> Callable[[Any], Any]:
    """Return the option --ensembles of a command; `ensemble_names` reads its value.

    known : the names of the ensembles, which the help lists.
    """
    own = "FILE.py:NAME, a function of (n, d, rng) that returns (X, y)"
    words = f"The ensembles, separated by commas: {', '.join(known)}; or {own}."
    return click.option("--ensembles", default="all", show_default=True, help=words)


Shape: TypeAlias = tuple[tuple[int, int], tuple[int, int]]


class _ShapeType(click.ParamType):  # type: ignore[type-arg]  # generic in some versions only
    """The type of --shape: 30x50, or ranges such as 20-40x50-100."""

    name = "shape"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        found = re.fullmatch(r"(\d+)(?:[-–](\d+))?[x×](\d+)(?:[-–](\d+))?", str(value).replace(" ", ""))
        if found is None:
            words = f"must be rows x columns, such as 30x50, or ranges such as 20-40x50-100; got {value!r}"
            self.fail(words, param, ctx)
        n, most_n, d, most_d = found.groups()
        shape = ((int(n), int(most_n or n)), (int(d), int(most_d or d)))
        if not all(1 <= low <= high for low, high in shape):
            self.fail(f"each range must begin at 1 or more, and not end before; got {value!r}", param, ctx)
        return shape


shape_option = click.option(
    "--shape",
    type=_ShapeType(),
    metavar="ROWSxCOLUMNS",
    help="The size of all designs, such as 30x50, or ranges of it, such as 20-40x50-100; of real data this "
    "many random rows and columns.  [default: the ranges of each ensemble]",
)


def shape_text(shape: Shape) -> str:
    """Return a shape as --shape takes it.

    >>> shape_text(((30, 30), (50, 100)))
    '30x50-100'
    """
    return "x".join(str(low) if low == high else f"{low}-{high}" for low, high in shape)


def folder_option(name: str, default: str, words: str) -> Callable[[Any], Any]:
    """Return an option of a command that is a folder.

    words : the help of the option.
    """
    kind = NewPath(file_okay=False, path_type=Path)
    return click.option(name, type=kind, default=Path(default), show_default=True, help=words)


def output_option(default: str, holds: str) -> Callable[[Any], Any]:
    """Return the option --output of a command, the folder of its report.

    default : the default folder.
    holds : a list of the files in the report, for the help.
    """
    return folder_option("--output", default, f"The folder for {holds}.")


def design_option(words: str) -> Callable[[Any], Any]:
    """Give a command the argument FILE, or --design FILE: a file that `saved_design.read_design` reads.

    words : the help of the option.
    """
    file = click.Path(exists=True, dir_okay=False, path_type=Path)

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def command(file: Path | None, design: Path | None, **options: Any) -> Any:
            if file is not None and design is not None:
                raise click.UsageError("the design is given twice. Pass FILE, or --design FILE, but not both")
            return function(design=design if file is None else file, **options)

        with_option = click.option("--design", metavar="FILE", type=file, help=f"The same as FILE: {words}")
        return click.argument("file", required=False, type=file)(with_option(command))

    return decorate


def watch(
    console: Console,
    name: str,
    total: int,
    stream: Iterator[_Item],
    take: Callable[[_Item], tuple[int, str]],
    stopped: str = "",
    alike: bool = True,
) -> bool:
    """Pass each item of a stream to `take` under a progress bar; return whether Ctrl-C ended the stream.

    take : a function that returns how far the bar advances, and the text of the bar.
    stopped : a text that is printed after Ctrl-C.
    alike : whether all items take about the same time; only then does the bar show the remaining time.

    Ctrl-C closes the stream; the results of the items passed so far remain.
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
    """Ignore Ctrl-C from here on, so that a second Ctrl-C does not lose the report."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def finish(console: Console, index: Path, interrupted: bool, failed: bool = False) -> NoReturn:
    """Print the path of the report, and exit: with 130 after Ctrl-C, with 1 after a failure, else with 0."""
    console.print(f"Report: {index}", soft_wrap=True, highlight=False)
    raise SystemExit(130 if interrupted else int(failed))


def make_folder(output: Path, command: str, names: Iterable[str], inputs: Collection[Path] = ()) -> None:
    """Make the folder of a command's report, before the work starts.

    names : the files of the report.
    inputs : files that the report must not overwrite; see `folder.check`.

    Raises click.BadParameter if the folder cannot be made or written into, or holds a file that must stay.
    """
    try:
        folder.check(output, command, names, inputs)
        output.mkdir(parents=True, exist_ok=True)
    except folder.ReportError as error:
        raise click.BadParameter(str(error), param_hint="--output") from None
    except OSError as error:
        raise click.BadParameter(f"cannot make {output}: {error.strerror}", param_hint="--output") from None
    if not os.access(output, os.W_OK):
        words = f"cannot write into {output}: choose another folder, or change its permissions"
        raise click.BadParameter(words, param_hint="--output")


def register_own(ensembles: str, seed: int, shape: Shape | None = None) -> str:
    """Register each FILE.py:NAME in a list of ensembles; return the list with the names of the ensembles.

    shape : the ranges of n and d at which the function must draw a design; by default those of the ensemble.

    Raises click.BadParameter if the first design of such a function cannot be drawn.
    """
    names = []
    for item in map(str.strip, ensembles.split(",")):
        if ":" in item:
            try:
                own = from_file(item)
                sized = own if shape is None else of_random_size(own.name, "", cast(Any, own.family), *shape)
                sized.design(0, seed)
            except BadEnsemble as error:
                raise click.BadParameter(str(error), param_hint="--ensembles") from None
            ENSEMBLES[own.name] = own
            item = own.name
        names.append(item)
    return ",".join(names)


def ensemble_names(ensembles: str, known: Sequence[str]) -> tuple[str, ...]:
    """Return the names in a comma-separated list, each once; "all" stands for all known names."""
    if ensembles == "all":
        return tuple(known)
    return parse_names(ensembles, known, ("ensemble", "ensembles"), "--ensembles")


def parse_names(text: str, known: Sequence[str], kind: tuple[str, str], option: str) -> tuple[str, ...]:
    """Return the names in a comma-separated list, each once.

    A name may contain commas itself; the longest name that fits is taken.

    kind : the singular and the plural of the kind of things that are named, for the message.

    Raises click.BadParameter for an unknown name.

    >>> known = ("OMP", "group LASSO", "group LASSO, λ fixed")
    >>> parse_names("group LASSO, λ fixed, OMP", known, ("method", "methods"), "--methods")
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


def command_line() -> str:
    """Return the command line of the running command, to repeat the run."""
    context = click.get_current_context()
    words = context.command_path.split()
    for option in context.command.params:
        given = context.get_parameter_source(str(option.name)) is ParameterSource.COMMANDLINE
        if not given:
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
            raise click.BadParameter(f"has no effect with {reason}", param_hint=hint)
