"""The explorer on a page of this machine."""

from __future__ import annotations

import contextlib
import os
import re
import socket
import sys
import webbrowser
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NoReturn

from sparselin.plots.explorer.frame import frame
from sparselin.plots.explorer.presets import PRESETS

HOST = "127.0.0.1"  # nobody else's machine reaches it
_APP = Path(__file__).parent / "app.py"
_LOCAL = re.compile(r"(localhost|127\.0\.0\.1|\[::1\])(:\d+)?")
_SECONDS = 2  # in which a page whose socket closed may come back, before its session and threads end


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


def is_local(headers: Iterable[tuple[bytes, bytes]]) -> bool:
    """Return whether a request is to a name of this machine, and from a page of this server or from no page.

    A browser sends other sites' pages here too: with their Origin, or, where their own name leads to this
    machine (DNS rebinding), with that name as Host. Any port is right, since a tunnel may change it, but
    Host and Origin must have the same one.
    """
    hosts = [value.decode("latin-1").lower() for name, value in headers if name == b"host"]
    origins = [value.decode("latin-1").lower() for name, value in headers if name == b"origin"]
    if len(hosts) != 1 or not _LOCAL.fullmatch(hosts[0]):
        return False
    return all(origin in (f"http://{hosts[0]}", f"https://{hosts[0]}") for origin in origins)


def guarded(app: Any) -> Any:
    """Return the ASGI app, with status 403 for every request and websocket that is not local."""
    from starlette.responses import PlainTextResponse
    from starlette.websockets import WebSocketClose

    words = "Host and Origin must be of this machine: open the address that `sparselin explore` prints.\n"
    refusals = {"http": PlainTextResponse(words, 403), "websocket": WebSocketClose(1008)}

    async def answer(scope: Any, receive: Any, send: Any) -> None:
        foreign = scope["type"] in refusals and not is_local(scope["headers"])
        await (refusals[scope["type"]] if foreign else app)(scope, receive, send)

    return answer


def serve(place: socket.socket, ready: Callable[[], None]) -> None:
    """Serve the page until Ctrl-C; `ready` is called once it can be loaded."""
    import marimo
    import uvicorn

    builder = marimo.create_asgi_app(quiet=True, session_ttl=_SECONDS)
    app = guarded(builder.with_app(path="", root=str(_APP)).build())

    class Server(uvicorn.Server):
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            ready()

    Server(uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=1)).run(sockets=[place])
