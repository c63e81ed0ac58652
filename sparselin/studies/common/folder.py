"""The folder of a report. Only this module writes the files of a report.

A command overwrites a file only if an earlier run of the same command wrote it and nobody has changed it
since. `results.json` lists the files of a report with the SHA-256 of their contents. The list includes
`results.json` itself, whose hash is computed without the list. A report appears as a whole or not at all:
each file is written under a temporary name in the folder. When all files are complete, they are renamed,
results.json last.
"""

import contextlib
import fnmatch
import glob
import hashlib
import json
import math
import os
import uuid
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

INDEX, RESULTS = "index.html", "results.json"


class ReportError(Exception):
    """The error that a report cannot be written, or would overwrite something; the message has a remedy."""


def check(folder: Path, command: str, names: Iterable[str], inputs: Collection[Path] = ()) -> None:
    """Raise ReportError if a report would overwrite an input, or a file that no earlier report wrote.

    names : the names of the report's files, or patterns, in addition to index.html and results.json.
    """
    names = [RESULTS, INDEX, *names]
    other, own = _earlier(folder)
    if other and other.split()[-1] != command:
        raise ReportError(
            f"{folder} holds a report of `{other}`, and this report would be mixed with it: choose "
            "another folder, or remove that report"
        )
    foreign: list[str] = []
    there = sorted(folder.iterdir()) if folder.exists() else []
    for path in dict.fromkeys(path for name in names for path in there if _matches(path.name, name)):
        for source in inputs:
            if _same(path, source):
                raise ReportError(_input_message(source, path))
        if path.name not in own:
            foreign.append(path.name)
    if foreign:
        rest = len(foreign) - 1
        more = f" (and {rest} more file{'s' * (rest > 1)})" if rest else ""
        raise ReportError(
            f"the report would overwrite {foreign[0]}{more} in {folder}, which this command did not "
            "write, or which was changed since: choose another folder, or move the file away"
        )
    for source in inputs:  # inputs that do not exist yet
        at = Path(os.path.realpath(source))
        if at.parent == Path(os.path.realpath(folder)) and any(_matches(at.name, name) for name in names):
            raise ReportError(_input_message(source, at))


def table_of_report(folder: Path) -> str:
    """Return the path of the table that the report in a folder is about; "" if there is none."""
    try:
        return str(json.loads((folder / RESULTS).read_bytes())["data"]["path"])
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        return ""


def write(folder: Path, results: Mapping[str, Any], files: Mapping[str, bytes]) -> Path:
    """Write a report, remove the leftovers of an earlier report, and return the path of the new page.

    results : the contents of results.json, where `run` comes from `page.describe`.
    files : name ↦ contents of the other files.

    Raises ReportError, and then leaves the folder unchanged.
    """
    plain = json.loads(json.dumps(_finite(results)))
    command = _program(plain["run"]["command"])
    check(folder, command.split()[-1], map(glob.escape, files))
    listed = {**files, RESULTS: _text(plain)}
    plain["files"] = {name: hashlib.sha256(data).hexdigest() for name, data in listed.items()}
    write_files(folder, {**files, RESULTS: _text(plain)}, _earlier(folder)[1] - set(listed))
    return folder / (INDEX if INDEX in files else RESULTS)


def write_new(folder: Path, files: Mapping[str, bytes], force: bool) -> None:
    """Write all files or none. Without `force`, no file that exists with other contents is overwritten.

    files : name ↦ contents; a name may have folders in it.

    Raises ReportError.
    """
    paths = [folder / name for name in files]
    other = [path for path in paths if os.path.lexists(path) and not _has(path, files, folder)]
    if other and not force:
        more = f" and {len(other) - 1} more" if len(other) > 1 else ""
        raise ReportError(
            f"{other[0]}{more} would be overwritten: choose another folder, or pass --force to overwrite"
        )
    try:
        for parent in dict.fromkeys(path.parent for path in paths):
            parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ReportError(f"cannot make {error.filename}: {error.strerror or error}") from None
    write_files(folder, files)


def _has(path: Path, files: Mapping[str, bytes], folder: Path) -> bool:
    """Return whether the file at a path has the contents that are to be written."""
    return path.is_file() and path.read_bytes() == files[path.relative_to(folder).as_posix()]


def write_files(folder: Path, files: Mapping[str, bytes], gone: Iterable[str] = ()) -> None:
    """Write all files or none, in this order, and remove the files `gone` before the last one appears.

    Raises ReportError.
    """
    mark = uuid.uuid4().hex
    whole = False
    name = ""
    parts = {name: folder / f".{mark}-{i}.part" for i, name in enumerate(files)}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, part in parts.items():
            with part.open("xb") as file:
                file.write(files[name])
                file.flush()
                os.fsync(file.fileno())
        whole = True
        *others, last = parts
        for name in others:
            parts[name].replace(folder / name)
        for name in gone:
            (folder / name).unlink(missing_ok=True)
        parts[name := last].replace(folder / last)
    except OSError as error:
        state = (
            "some files are already from this run, so run it again" if whole else "the folder is unchanged"
        )
        raise ReportError(f"cannot write {folder / name}: {error.strerror or error}; {state}") from None
    finally:
        for part in parts.values():
            with contextlib.suppress(OSError):
                part.unlink(missing_ok=True)


def _program(command: Any) -> str:
    """Return the program in a command line: `sparselin NAME` or `python -m NAME`."""
    words = str(command).split()
    return " ".join(words[: 3 if words[1] == "-m" else 2])


def _earlier(folder: Path) -> tuple[str, set[str]]:
    """Return the command that wrote the report in a folder, and the files of this report that are unchanged.

    The command is "" if there is no report.
    """
    own = set()
    try:
        raw = (folder / RESULTS).read_bytes()
        results = json.loads(raw)
        intact = raw == _text(results)
        command = _program(results["run"]["command"])
        listed = dict(results.pop("files", {}))
        for path in folder.iterdir():
            if path.name in listed and path.is_file() and not path.is_symlink():
                data = _text(results) if path.name == RESULTS and intact else path.read_bytes()
                if hashlib.sha256(data).hexdigest() == listed[path.name]:
                    own.add(path.name)
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return "", set()
    return command, own


def _text(results: Any) -> bytes:
    """Return the results as JSON in bytes. Characters that UTF-8 cannot encode become question marks."""
    return (json.dumps(results, indent=1, ensure_ascii=False) + "\n").encode("utf-8", "replace")


def _finite(value: Any) -> Any:
    """Return the value with None in place of NaN and infinities, and lists in place of arrays, for JSON."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, Mapping):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _matches(name: str, pattern: str) -> bool:
    """Return whether a name matches a pattern. Case is ignored, because some file systems ignore it."""
    return fnmatch.fnmatchcase(name.lower(), pattern.lower())


def _same(path: Path, other: Path) -> bool:
    """Return whether two paths, after resolving links, are the same file."""
    if not (os.path.exists(path) and os.path.exists(other)):
        return os.path.realpath(path) == os.path.realpath(other)
    return path.samefile(other)


def _input_message(source: Path, path: Path) -> str:
    """Return the message for a report that would overwrite an input."""
    return f"{source} is an input of this run, and the report would overwrite it ({path}): use another folder"
