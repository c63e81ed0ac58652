"""The folder of a report: the one place that writes files of a report, and the rule by which it does.

A command overwrites only files that an earlier run of the same command wrote and nobody has changed since.
`results.json` lists them with the SHA-256 of their contents; its own is that of the rest of it. A report
appears whole or not at all: each file is written under a temporary name in the folder, and all are renamed
once all are complete, results.json last.
"""

from __future__ import annotations

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
    """A report that must not be written, or cannot be: which file is in the way, and what to do."""


def check(folder: Path, command: str, names: Iterable[str], inputs: Collection[Path] = ()) -> None:
    """Raise ReportError if a report would overwrite an input, or a file that no earlier run of it wrote.

    names : the names of its files, or patterns of them, in addition to index.html and results.json.
    """
    names = [RESULTS, INDEX, *names]
    other, own = _earlier(folder)
    if other and other.split()[-1] != command:
        raise ReportError(
            f"{folder} holds a report of `{other}`, which would be mixed with this one: choose "
            "another folder or remove it"
        )
    foreign: list[str] = []
    there = sorted(folder.iterdir()) if folder.exists() else []
    for path in dict.fromkeys(path for name in names for path in there if _matches(path.name, name)):
        for source in inputs:
            if _same(path, source):
                raise ReportError(_of_input(source, path))
        if path.name not in own:
            foreign.append(path.name)
    if foreign:
        article, rest = "an" if foreign[0][0] in "aeiou" else "a", len(foreign) - 1
        more = f" and {rest} such file{'s' * (rest > 1)} more" if rest else ""
        raise ReportError(
            f"{folder} holds {article} {foreign[0]} of something else (or changed since){more}, which the "
            "report would overwrite: choose another folder, or move what is there"
        )
    for source in inputs:  # those that are not there yet
        at = Path(os.path.realpath(source))
        if at.parent == Path(os.path.realpath(folder)) and any(_matches(at.name, name) for name in names):
            raise ReportError(_of_input(source, at))


def write(folder: Path, results: Mapping[str, Any], files: Mapping[str, bytes]) -> Path:
    """Write a report, and remove the files of the report that it replaces. Returns the path of its page.

    results : the contents of results.json, with `run` by `page.describe`. files : name ↦ contents, of the
    others. Raises ReportError, the folder being left as it was.
    """
    plain = json.loads(json.dumps(_finite(results)))
    command = _program(plain["run"]["command"])
    check(folder, command.split()[-1], map(glob.escape, files))
    listed = {**files, RESULTS: _text(plain)}
    plain["files"] = {name: hashlib.sha256(data).hexdigest() for name, data in listed.items()}
    put(folder, {**files, RESULTS: _text(plain)}, _earlier(folder)[1] - set(listed))
    return folder / (INDEX if INDEX in files else RESULTS)


def put(folder: Path, files: Mapping[str, bytes], gone: Iterable[str] = ()) -> None:
    """Write files whole, all or none, in this order, and remove those that are `gone` before the last.

    Raises ReportError.
    """
    mark, whole, name = uuid.uuid4().hex, False, ""
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
            "some files are of this run: run it again"
            if whole
            else "the files in the folder are as they were"
        )
        raise ReportError(f"{folder / name} cannot be written: {error.strerror or error}; {state}") from None
    finally:
        for part in parts.values():
            with contextlib.suppress(OSError):
                part.unlink(missing_ok=True)


def _program(command: Any) -> str:
    """The beginning of the line of a command, `sparselin NAME` or `python -m NAME`."""
    words = str(command).split()
    return " ".join(words[: 3 if words[1] == "-m" else 2])


def _earlier(folder: Path) -> tuple[str, set[str]]:
    """Return the command of the report in a folder, "" if there is none, and its unchanged files."""
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
    """Return results as JSON; a name of a file that is no text becomes one with question marks."""
    return (json.dumps(results, indent=1, ensure_ascii=False) + "\n").encode("utf-8", "replace")


def _finite(value: Any) -> Any:
    """Return the value with null, which JSON has, for NaN, which stands for what was not measured."""
    if isinstance(value, Mapping):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _matches(name: str, pattern: str) -> bool:
    """Whether a name fits, on disks too that do not tell capitals from small letters."""
    return fnmatch.fnmatchcase(name.lower(), pattern.lower())


def _same(path: Path, other: Path) -> bool:
    """Whether two names are of one file, through links too."""
    if not (os.path.exists(path) and os.path.exists(other)):
        return os.path.realpath(path) == os.path.realpath(other)
    return path.samefile(other)


def _of_input(source: Path, path: Path) -> str:
    return f"{source} is used by this run, and the report would overwrite it as {path}: choose another folder"
