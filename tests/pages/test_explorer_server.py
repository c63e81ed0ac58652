"""The command of the explorer, and who reaches its server."""

import asyncio
import errno
import html
import http.client
import json
import os
import re
import socket
import subprocess
import sys
import time

import pytest
from click.testing import CliRunner

from sparselin.plots.explorer import pages
from sparselin.plots.explorer.presets import PRESETS
from sparselin.studies.common import serve
from sparselin.studies.common.group import cli
from sparselin.validation.extras import installed_by


def run(monkeypatch, *arguments, browser=True):
    """`sparselin explore`, but for the serving itself."""
    monkeypatch.setattr(serve, "serve", lambda place, begin, ready: (begin(), ready(), place.close()))
    monkeypatch.setattr(serve, "leave", lambda: None)
    monkeypatch.setattr(serve.webbrowser, "open", lambda url: browser)
    return CliRunner().invoke(cli, ["explore", *arguments])


def test_the_command_says_where_it_is(monkeypatch):
    found = run(monkeypatch, "--port", "0", "trap")
    assert found.exit_code == 0
    address = r"http://127\.0\.0\.1:\d+/\?preset=trap"
    assert re.fullmatch(
        rf"The explorer is at {address}\nIt is loading …\nIt is ready\. Ctrl-C stops it\.\nStopped\.\n",
        found.output,
    )


def test_without_a_browser_one_line(monkeypatch):
    found = run(monkeypatch, "--port", "0", browser=False)
    assert "No browser was found. Open the address above in a browser on this machine.\n" in found.output
    assert "browser" not in run(monkeypatch, "--port", "0", "--no-browser", browser=False).output


def test_a_taken_port_is_told_in_one_line(monkeypatch):
    with serve.bind(0) as place:
        port = place.getsockname()[1]
        found = run(monkeypatch, "--port", str(port))
    assert found.exit_code == 1
    taken = rf"Error: cannot use port {port} \(.*\): choose another with --port; .*0 means any free one\n"
    assert re.fullmatch(taken, found.output)


@pytest.mark.parametrize("start", ["nothing", "X=1,0&y=1", "http://127.0.0.1:2731/?X=1,0;0&y=1,0"])
def test_the_command_refuses_a_broken_address(monkeypatch, start):
    found = run(monkeypatch, start)
    assert found.exit_code == 2
    assert "Invalid value for ADDRESS: " in found.output


def test_the_command_names_what_is_missing(monkeypatch):
    import importlib.util

    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    found = run(monkeypatch)
    assert found.exit_code == 1
    assert found.output == f"Error: the explorer needs marimo: {installed_by('notebooks')}\n"


def test_a_full_disk_of_the_cache_is_named(monkeypatch, tmp_path):
    """The error of Numba names no file; the message names the folder, and what to do."""
    from numba.core.caching import IndexDataCacheFile

    class FullCache(IndexDataCacheFile):
        def save(self, key, data):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def warm_up():
        FullCache(str(tmp_path), "kernel", None).save((), None)

    monkeypatch.setattr(serve, "warm_up", warm_up)
    found = CliRunner().invoke(cli, ["explore", "--port", "0", "--no-browser"])
    assert found.exit_code == 1
    assert str(tmp_path) in found.output.replace("\n", "")
    assert "set NUMBA_CACHE_DIR" in found.output


def test_an_interruption_while_modules_are_loaded_is_one_line(monkeypatch, capsys):
    import sparselin.__main__

    class Interrupted:
        def find_spec(self, name, path=None, target=None):
            if name == "sparselin.studies.common.group":
                raise KeyboardInterrupt

    monkeypatch.delitem(sys.modules, "sparselin.studies.common.group")
    monkeypatch.setattr(sys, "meta_path", [Interrupted(), *sys.meta_path])
    with pytest.raises(SystemExit) as end:
        sparselin.__main__.main()
    assert end.value.code == 130
    assert capsys.readouterr().err == "Interrupted.\n"


NAMES = ["127.0.0.1", "localhost", "LOCALHOST", "[::1]"]


FOREIGN = [
    "evil.com",
    "127.0.0.1.evil.com",
    "localhost.evil.com",
    "a@localhost",
    "localhost/",
    "10.0.0.1",
    "",
]


TO_PAGES = [(host, None) for host in NAMES] + [(host, "http://" + host) for host in NAMES]


TO_NONE = (
    [(host, None) for host in FOREIGN]
    + [(host, "http://" + host) for host in FOREIGN]
    + [("localhost", origin) for origin in ("http://evil.com", "null", "", "http://127.0.0.1", "localhost")]
    + [("localhost", "http://localhost:1"), ("localhost", "http://localhost.evil.com")]
)


def reached(kind, *headers):
    """Return whether a request comes to the app; otherwise the messages that it gets."""
    seen, sent = [], []

    async def app(scope, receive, send):
        seen.append(scope)

    async def send(message):
        sent.append(message)

    scope = {"type": kind, "headers": [(name, value.encode()) for name, value in headers]}
    asyncio.run(serve.refuse_foreign(app)(scope, None, send))
    return bool(seen), sent


@pytest.mark.parametrize("kind", ["http", "websocket"])
@pytest.mark.parametrize("port", ["", ":2731", ":80", ":65535"])
def test_only_pages_of_this_server_reach_it(kind, port):
    pytest.importorskip("starlette")
    for pairs, allowed in ((TO_PAGES, True), (TO_NONE, False)):
        for host, origin in pairs:
            asked = [(b"host", host + port), (b"user-agent", "x")]
            if origin is not None:
                asked.append((b"origin", origin + port if origin.endswith(host) else origin))
            found, sent = reached(kind, *asked)
            assert found == allowed, asked
            assert allowed or sent[0]["type"] == "websocket.close" or sent[0]["status"] == 403
    for asked in ([], [(b"host", "localhost" + port), (b"host", "evil.com")]):
        assert not reached(kind, *asked)[0]
    assert reached("lifespan")[0]


@pytest.fixture(scope="module")
def port(tmp_path_factory):
    """The port of a server in a process, the process, as psutil has it, and the file of its log."""
    for name in ("marimo", "uvicorn", "websockets"):
        pytest.importorskip(name)
    psutil = pytest.importorskip("psutil")
    code = "from sparselin.studies.common import serve; p = serve.bind(0); "
    code += "print(p.getsockname()[1], flush=True); "
    log = tmp_path_factory.mktemp("server") / "log"
    with (
        log.open("w") as errors,
        subprocess.Popen(
            [sys.executable, "-c", code + "serve.serve(p, lambda: None, lambda: print('ready', flush=True))"],
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        ) as process,
    ):
        found = int(process.stdout.readline())
        assert process.stdout.readline() == "ready\n"
        yield found, psutil.Process(process.pid), log
        process.kill()


@pytest.mark.parametrize("path", ["set_ui_element_value", "set_model_value"])
@pytest.mark.parametrize("body", [b"", b"{", b"\xff", b"null", b"[]", b'{"a": 1}', b'{"a": "\xff"}'])
def test_a_malformed_request_is_refused(port, path, body):
    """Status 400 with a message, and no traceback in the log of the server."""
    page = http.client.HTTPConnection(serve.HOST, port[0], timeout=30)
    page.request("POST", f"/api/kernel/{path}", body, {"Marimo-Session-Id": "s_malformed"})
    answer = page.getresponse()
    assert answer.status == 400
    assert json.loads(answer.read())["detail"]
    page.close()
    assert port[2].read_text() == ""


def test_other_errors_of_the_server_stay():
    """Only errors of the decoder become 400; other errors keep their status, and the server sees them."""
    pytest.importorskip("msgspec")
    sent = []

    async def send(message):
        sent.append(message)

    async def app(scope, receive, send):
        await send({"type": "http.response.start", "status": 500})
        await send({"type": "http.response.body", "body": b"broken"})
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        asyncio.run(serve.refuse_bad_json(app)({"type": "http"}, None, send))
    assert [message.get("status") for message in sent] == [500, None]


@pytest.mark.parametrize(
    ("host", "origin"),
    [("localhost", "http://evil.com"), ("evil.com", "http://evil.com"), ("evil.com", None)],
)
def test_a_foreign_page_gets_no_session(port, host, origin):
    from websockets.exceptions import InvalidStatus
    from websockets.sync.client import connect

    with socket.create_connection((serve.HOST, port[0])) as place, pytest.raises(InvalidStatus, match="403"):
        connect(f"ws://{host}:{port[0]}/ws?session_id=s_foreign", sock=place, origin=origin)


def test_a_closed_page_leaves_no_thread(port):
    from websockets.sync.client import connect

    number, process, _ = port

    def open_pages(count, name):
        for i in range(count):
            url = f"ws://localhost:{number}/ws?session_id=s_{name}{i}"
            with connect(url, origin=f"http://localhost:{number}") as page:
                assert page.recv()

    open_pages(1, "first")  # marimo's own threads
    time.sleep(5)
    before = process.num_threads()
    open_pages(10, "more")
    assert process.num_threads() > before
    end = time.monotonic() + 30
    while process.num_threads() > before and time.monotonic() < end:
        time.sleep(0.2)
    assert process.num_threads() <= before


def test_pages_are_saved(tmp_path):
    """All presets with a page of contents, or one design; a file of the user stays without --force."""

    def save(*arguments):
        return CliRunner().invoke(cli, ["explore", "--save", str(tmp_path / "pages"), *arguments])

    found = save("trap")
    assert found.exit_code == 0
    assert (tmp_path / "pages" / "trap.html").exists()
    design = "X=1,0;0.6,0.8&y=1,2&lam=0.5"
    assert save(design).output == f"Open {tmp_path / 'pages' / 'design.html'} in a browser.\n"
    page = tmp_path / "pages" / "design.html"
    assert f"<code>sparselin explore '{design}'</code>" in html.unescape(page.read_text("utf-8"))
    assert save(design).exit_code == 0  # the same page
    page.write_text("mine", encoding="utf-8")
    refused = save(design)
    assert refused.exit_code == 1
    assert "--force" in refused.output
    assert page.read_text("utf-8") == "mine"
    assert save("--force", design).exit_code == 0
    assert page.read_text("utf-8") != "mine"


def test_all_presets_are_saved(tmp_path, monkeypatch):
    monkeypatch.setattr(pages, "frames", lambda state: [])  # which take seconds
    assert CliRunner().invoke(cli, ["explore", "--save", str(tmp_path)]).exit_code == 0
    assert {path.name for path in tmp_path.iterdir()} == {"index.html", *(f"{name}.html" for name in PRESETS)}
    links = re.findall(r'href="([^"]+)"', (tmp_path / "index.html").read_text("utf-8"))
    assert links == [f"{name}.html" for name in PRESETS]
    assert '<a href="index.html">' in (tmp_path / "trap.html").read_text("utf-8")


def test_options_of_the_server_and_of_saving_do_not_mix(tmp_path):
    assert (
        "has no effect with --save"
        in CliRunner().invoke(cli, ["explore", "--save", "x", "--port", "1"]).output
    )
    assert "belongs to --save" in CliRunner().invoke(cli, ["explore", "--force"]).output


def test_the_page_says_that_it_is_loading():
    """It reloads itself with the same address, and is not cached; afterwards requests reach the app."""
    pytest.importorskip("starlette")
    ready, seen = [], []

    async def app(scope, receive, send):
        seen.append(scope["type"])

    def answers(kind):
        sent = []

        async def send(message):
            sent.append(message)

        scope = {"type": kind, "method": "GET", "headers": []}
        asyncio.run(serve.loading_page(app, lambda: bool(ready))(scope, None, send))
        return sent

    start, body = answers("http")
    assert (start["status"], seen) == (200, [])
    assert (b"cache-control", b"no-store") in start["headers"]
    assert b"The explorer is loading" in body["body"]
    assert b'http-equiv="refresh" content="1"' in body["body"]
    assert answers("websocket")[0]["type"] == "websocket.close"
    ready.append(True)
    answers("http")
    answers("websocket")
    assert seen == ["http", "websocket"]
