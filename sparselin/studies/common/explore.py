"""`sparselin explore`."""

from __future__ import annotations

import contextlib
import importlib.util

import click
from rich.console import Console

from sparselin.plots.explorer.presets import address, named


@click.command(short_help="Drag a design, watch the dual polytope and the picks.")
@click.argument("start", default="", metavar="[ADDRESS]")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=2731, show_default=True, help="0: any free one."
)
@click.option("--browser/--no-browser", default=True, show_default=True, help="Open the page in a browser.")
def explore(start: str, port: int, browser: bool) -> None:
    """Serve a page on this machine alone: the dual polytope in two or three dimensions, with handles.

    ADDRESS is the name of a preset, or what stands after ? in the address of a page, for example
    "X=1,0;0,1&y=3,1&lam=2&S=0": the address follows the page, so it can be kept and shared. Ctrl-C stops.

    Exit status 0: stopped. 1: the port is taken, or the extra `notebooks` is missing. 2: bad arguments.
    """
    console = Console(soft_wrap=True, highlight=False)
    query = _query(start)
    for module in ("marimo", "anywidget"):
        if importlib.util.find_spec(module) is None:
            raise click.ClickException(f"the explorer needs {module}: pip install 'sparselin[notebooks]'")
    from sparselin.plots.explorer import serve

    try:
        place = serve.bind(port)
    except OSError as error:
        raise click.ClickException(
            f"port {port} cannot be had ({error.strerror}): give another by --port, any free one by --port 0"
        ) from None
    url = f"http://{serve.HOST}:{place.getsockname()[1]}/?{query}"

    def ready() -> None:
        console.print(f"The explorer is at {url}\nCtrl-C stops it.")
        if browser and not serve.open_browser(url):
            console.print("No browser was found here: open that address in one of this machine.")

    with console.status("Getting ready (the first time ever, compiling) …"):
        serve.warm_up()
    with contextlib.suppress(KeyboardInterrupt):
        serve.serve(place, ready)
    console.print("Stopped.")
    serve.leave()


def _query(start: str) -> str:
    """The address of a page for the argument: read, so that what is wrong is said here."""
    try:
        return address(named(start))
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="ADDRESS") from None
