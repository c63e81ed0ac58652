"""The explorer on a page of this machine."""

from __future__ import annotations

import contextlib
import os
import socket
import sys
import webbrowser
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

from sparselin.explorer.frame import frame
from sparselin.explorer.presets import PRESETS

HOST = "127.0.0.1"  # nobody else's machine reaches it
_APP = Path(__file__).parent / "app.py"


def warm_up() -> None:
    """Compile what the pages call, so that no drag waits for it."""
    for preset in PRESETS.values():
        frame(preset.state)


def bind(port: int) -> socket.socket:
    """A socket at the port of this machine, any free one for 0. OSError if it is taken."""
    found = socket.socket()
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        found.bind((HOST, port))
        found.listen()  # from here on the port is taken, and who loads the page waits
    except OSError:
        found.close()
        raise
    return found


def open_browser(url: str) -> bool:
    """Whether there is a browser, and it took the page."""
    with contextlib.suppress(webbrowser.Error):
        return webbrowser.open(url)
    return False


def leave() -> NoReturn:
    """End the process at once: the interpreter would wait for marimo's threads, one for each open page."""
    sys.stdout.flush()
    os._exit(0)


def serve(place: socket.socket, ready: Callable[[], None]) -> None:
    """Serve the page until Ctrl-C; `ready` is called once it can be loaded."""
    import marimo
    import uvicorn

    app = marimo.create_asgi_app(quiet=True).with_app(path="", root=str(_APP)).build()

    class Server(uvicorn.Server):
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            ready()

    Server(uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=1)).run(sockets=[place])
