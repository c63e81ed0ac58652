"""The command `sparselin explore`."""

import contextlib
import importlib.util
import os
from pathlib import Path

import click

from sparselin.plots.explorer.presets import PRESETS, Preset, address, state_of
from sparselin.plots.explorer.state import State
from sparselin.studies.common.command import NewPath, Terminal, force_option, refuse
from sparselin.studies.common.folder import write_new
from sparselin.validation.extras import installed_by


@click.command(short_help="Drag a design and watch the dual polytope and the picks.")
@click.argument("start", default="", metavar="[ADDRESS]")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=2731, show_default=True, help="Port; 0: any free port."
)
@click.option("--browser/--no-browser", default=True, show_default=True, help="Open the page in a browser.")
@click.option(
    "--save",
    type=NewPath(file_okay=False, path_type=Path),
    metavar="FOLDER",
    help="Write pages into this folder that need neither Python nor a network, and end.",
)
@force_option
def explore(start: str, port: int, browser: bool, save: Path | None, force: bool) -> None:
    """Serve a page with the dual polytope of a design that you can drag, in two or three dimensions.

    Only this machine can open the page. ADDRESS is the name of a preset, or the part after ? of the page's
    address, for example "X=1,0;0,1&y=3,1&lam=2&S=0". The page keeps its address up to date, so you can save
    or share it. Ctrl-C stops the server.

    With --save, the command writes a page of all presets, or of ADDRESS alone. On such a page you can change
    λ and S, and turn the picture.

    Exit status: 0 if stopped or saved, 1 if the port is taken, the folder cannot be written or the extra
    `notebooks` is missing, 2 for bad arguments.
    """
    console = Terminal(soft_wrap=True, highlight=False)
    try:
        state = state_of(start)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="ADDRESS") from None
    if save is not None:
        refuse(["port", "browser"], "--save")
        console.print(f"Open {_save(save, state, start, force)} in a browser.")
        return
    refuse(["force"], "a server; it belongs to --save")
    _serve(console, address(state), port, browser)


def _save(folder: Path, state: State, start: str, force: bool) -> Path:
    """Write the pages of all presets, or of a state if `start` is not empty; return the page to open."""
    from sparselin.plots.explorer import pages

    if start:
        name = address(state).removeprefix("preset=")
        own = Preset("A design of your own", state, "", "", "")
        presets = {name: PRESETS[name]} if name in PRESETS else {"design": own}
        files = pages.pages_of(presets)
    else:
        files = {"index.html": pages.contents(), **pages.pages_of(home="index.html")}
    write_new(folder, {name: text.encode() for name, text in files.items()}, force)
    return folder / next(iter(files))


def _serve(console: Terminal, query: str, port: int, browser: bool) -> None:
    """Serve the page until Ctrl-C."""
    for module in ("marimo", "anywidget"):
        if importlib.util.find_spec(module) is None:
            raise click.ClickException(f"the explorer needs {module}: {installed_by('notebooks')}")
    from sparselin.studies.common import serve

    try:
        place = serve.bind(port)
    except OSError as error:
        why = f"cannot use port {port} ({os.strerror(error.errno or 0)})"
        raise click.ClickException(f"{why}: choose another with --port; 0 means any free one") from None
    url = f"http://{serve.HOST}:{place.getsockname()[1]}/?{query}"

    def begin() -> None:
        console.print(f"The explorer is at {url}\nIt is loading …")
        if browser and not serve.open_browser(url):
            console.print("No browser was found. Open the address above in a browser on this machine.")

    def ready() -> None:
        console.print("It is ready. Ctrl-C stops it.")

    with contextlib.suppress(KeyboardInterrupt):
        serve.serve(place, begin, ready)
    console.print("Stopped.")
    serve.leave()
