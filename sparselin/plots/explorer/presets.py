"""The presets of the explorer in presets.toml: designs with an explanation and a question."""

import tomllib
from pathlib import Path
from typing import NamedTuple

from sparselin.plots.explorer.state import State, of_address, to_address


class Preset(NamedTuple):
    """A state with a title, an explanation (`story`) of the picture, a question, and its answer."""

    title: str
    state: State
    story: str
    ask: str
    answer: str


_ENTRIES = tomllib.loads((Path(__file__).parent / "presets.toml").read_text(encoding="utf-8"))
PRESETS = {name: Preset(state=of_address(entry.pop("state")), **entry) for name, entry in _ENTRIES.items()}


def state_of(query: str) -> State:
    """Return the state of an address, or of its part after "?".

    This part is "preset=NAME" or only NAME for a preset, empty for the first preset, or the text of a state.
    """
    query = query.rpartition("?")[2]
    if "=" in query and not query.startswith("preset="):
        return of_address(query)
    name = query.removeprefix("preset=") or next(iter(PRESETS))
    if name not in PRESETS:
        raise ValueError(f"preset must be one of {', '.join(PRESETS)}; got {name[:40]!r}")
    return PRESETS[name].state


def address(state: State) -> str:
    """Return the shortest address of a state that `state_of` reads."""
    names = [name for name, preset in PRESETS.items() if preset.state == state]
    return f"preset={names[0]}" if names else to_address(state)
