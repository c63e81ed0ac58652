"""Serve the explorer as a page for the browsers of this machine."""

import contextlib
import os
import re
import socket
import sys
import threading
import webbrowser
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NoReturn

from sparselin._kernels import form, use
from sparselin.plots.explorer.frame import frame
from sparselin.plots.explorer.presets import PRESETS

HOST = "127.0.0.1"  # other machines cannot reach it
_APP = Path(__file__).parents[2] / "plots" / "explorer" / "app.py"
_LOCAL = re.compile(r"(localhost|127\.0\.0\.1|\[::1\])(:\d+)?")
_LOADING = """<!doctype html><html lang="en"><meta charset="utf-8"><meta http-equiv="refresh" content="1">
<title>The explorer is loading …</title>
<style>:root { color-scheme: light dark; } body { font: 18px/1.5 system-ui, sans-serif; margin: 20vh auto;
max-width: 34em; padding: 12px; text-align: center; }</style>
<h1>The explorer is loading …</h1>
<p role="status">Python compiles its functions. This takes up to two minutes at the first start on a
machine, and some seconds later. The page opens by itself.</p></html>"""
_SECONDS = 2  # a page whose socket closed may reconnect for so long; then its session and threads end


def warm_up() -> None:
    """Call the functions that the pages call, so that no drag waits for an import or a compilation."""
    with use("always") if form() == "auto" else contextlib.nullcontext():
        for preset in PRESETS.values():
            frame(preset.state)


def bind(port: int) -> socket.socket:
    """Return a socket at a port of this machine; 0 means any free port. OSError: the port is taken."""
    # from here on the port is taken, and a browser that loads the page waits
    return socket.create_server((HOST, port))


def open_browser(url: str) -> bool:
    """Open a page in a browser. Return whether this worked."""
    with contextlib.suppress(webbrowser.Error):
        return webbrowser.open(url)
    return False


def leave() -> NoReturn:
    """End the process at once, because the interpreter would wait for marimo's threads, one per open page."""
    sys.stdout.flush()
    os._exit(0)


def is_local(headers: Iterable[tuple[bytes, bytes]]) -> bool:
    """Return whether a request names this machine as Host, and comes from a page of this server or no page.

    Pages of other sites can also make a browser send requests to this server. Such requests have another
    Origin or, if the name of the site leads to this machine (DNS rebinding), another Host. Any port is
    allowed, because a tunnel may change the port, but Host and Origin must have the same port.
    """
    hosts = [value.decode("latin-1").lower() for name, value in headers if name == b"host"]
    origins = [value.decode("latin-1").lower() for name, value in headers if name == b"origin"]
    if len(hosts) != 1 or not _LOCAL.fullmatch(hosts[0]):
        return False
    return all(origin in (f"http://{hosts[0]}", f"https://{hosts[0]}") for origin in origins)


def refuse_foreign(app: Any) -> Any:
    """Return an ASGI app that answers 403 to every request that is not local, and passes on the others."""
    from starlette.responses import PlainTextResponse
    from starlette.websockets import WebSocketClose

    words = "Host and Origin must name this machine: open the address that `sparselin explore` prints.\n"
    refusals = {"http": PlainTextResponse(words, 403), "websocket": WebSocketClose(1008)}

    async def answer(scope: Any, receive: Any, send: Any) -> None:
        foreign = scope["type"] in refusals and not is_local(scope["headers"])
        await (refusals[scope["type"]] if foreign else app)(scope, receive, send)

    return answer


def refuse_bad_json(app: Any) -> Any:
    """Return marimo's ASGI app, but with 400 instead of 500 for JSON that it cannot decode, and no traceback.

    marimo answers such a request, with a message, and then raises the error of the decoder again, which the
    server would log. An answer 500 is held back until the app ends, because only then its error is known.
    """
    import msgspec

    async def answer(scope: Any, receive: Any, send: Any) -> None:
        held: list[Any] = []

        async def send_or_hold(message: Any) -> None:
            if held or message.get("status") == 500:
                held.append(message)
            else:
                await send(message)

        try:
            await app(scope, receive, send_or_hold)
        except msgspec.MsgspecError:
            held = [message | {"status": 400} if "status" in message else message for message in held]
        finally:
            for message in held:
                await send(message)

    return answer


def loading_page(app: Any, is_ready: Callable[[], bool]) -> Any:
    """Return an ASGI app that answers with a page that says "loading" and reloads itself, until it is ready.

    Once `is_ready`, all requests are passed on to `app`.
    """
    from starlette.responses import HTMLResponse
    from starlette.websockets import WebSocketClose

    async def answer(scope: Any, receive: Any, send: Any) -> None:
        if is_ready() or scope["type"] not in ("http", "websocket"):
            await app(scope, receive, send)
        elif scope["type"] == "http":
            await HTMLResponse(_LOADING, headers={"Cache-Control": "no-store"})(scope, receive, send)
        else:
            await WebSocketClose(1013)(scope, receive, send)

    return answer


def serve(place: socket.socket, begin: Callable[[], None], ready: Callable[[], None]) -> None:
    """Serve the page on a socket until Ctrl-C. Until `warm_up` has ended, the page says that it is loading.

    place : the socket, bound to its address (see `bind`).
    begin : a function that is called once the page can be opened.
    ready : a function that is called once the page is no longer loading.

    Raises the error of `warm_up`, if there is one.
    """
    import marimo
    import uvicorn

    errors: list[BaseException] = []
    done = threading.Event()

    def prepare() -> None:
        try:
            warm_up()
            done.set()
            ready()
        except BaseException as error:
            errors.append(error)
            server.should_exit = True

    builder = marimo.create_asgi_app(quiet=True, session_ttl=_SECONDS)
    page = refuse_bad_json(builder.with_app(path="", root=str(_APP)).build())
    app = refuse_foreign(loading_page(page, done.is_set))

    class Server(uvicorn.Server):
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            begin()
            threading.Thread(target=prepare, daemon=True).start()

    server = Server(uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=1))
    server.run(sockets=[place])
    if errors:
        raise errors[0]
