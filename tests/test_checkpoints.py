"""A pass over chunks that was interrupted goes on from its checkpoint."""

import json

import numpy as np
import pytest
from chunked import DATA, parts
from refusals import refuses

import sparselin as sl


@pytest.mark.parametrize("held_out", [0, 3])
def test_an_interrupted_pass_goes_on_to_the_same_bits(held_out, tmp_path):
    X, y, _ = DATA
    path = tmp_path / "pass.npz"
    options = {"intercept": True, "held_out": held_out, "checkpoint": path, "every": 2}
    expected = sl.compress(parts(X, y, size=200), intercept=True, held_out=held_out)

    def stop(progress):
        if progress.chunks == 5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sl.compress(parts(X, y, size=200), progress=stop, **options)
    seen = []
    problem = sl.compress(parts(X, y, size=200), progress=lambda p: seen.append(p.chunks), **options)
    assert seen[0] == 6
    assert (problem.X == expected.X).all()
    assert (problem.y == expected.y).all()
    if held_out:
        assert (problem.compressed.held_out.X == expected.compressed.held_out.X).all()
    refuses("another form of chunks", sl.compress, parts(X, y, size=200), checkpoint=path)
    path.write_bytes(b"nothing")
    refuses("is not the checkpoint of a pass", sl.compress, parts(X, y, size=200), **options)


def head(**fields):
    return np.array(json.dumps({"format": "sparselin pass 1", **fields}))


@pytest.mark.parametrize(
    "content",
    [b"", b"nothing", b"PK\3\4" + b"a" * 16, {}, {"head": np.array("[")}, {"head": np.array('["a"]')},
     {"head": np.eye(2)}, {"head": np.array("null")}, {"head": np.array('{"format": 1}')}, {"head": head()},
     {"head": head(parts=[], chunks=0)}, {"head": head(parts=[], chunks=0, form=0, identity=0)},
     {"head": head(parts=[{}], chunks=0, form=0, identity=0)}, {"head": head(parts=3, form=0, identity=0)},
     *(0.1, 0.5, 0.9, 0.99), "complex"],
    ids=str,
)  # fmt: skip
def test_what_is_no_checkpoint_is_named(tmp_path, content):
    """And what is there stays."""
    X, y, _ = DATA
    path = tmp_path / "pass.npz"
    if isinstance(content, dict):
        np.savez(path, **content)
    elif isinstance(content, bytes):
        path.write_bytes(content)
    else:
        sl.compress(parts(X, y, size=200), checkpoint=path)
        whole = path.read_bytes()
        if content == "complex":
            with np.load(path) as stored:
                arrays = dict(stored)
            np.savez(path, **arrays | {"R0": arrays["R0"] + 1j})
        else:
            path.write_bytes(whole[: int(content * len(whole))])
    before = path.read_bytes()
    with pytest.raises(
        ValueError, match=r"pass\.npz is not the checkpoint of a pass: .*\. Choose another file, or delete it"
    ):
        sl.compress(parts(X, y, size=200), checkpoint=path)
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["pass.npz"]


def test_a_checkpoint_is_written_whole_and_to_its_place(tmp_path, monkeypatch):
    X, y, _ = DATA
    real, link = tmp_path / "real.npz", tmp_path / "link.npz"
    link.symlink_to(real)
    (tmp_path / "real.npz.part").write_text("mine")
    first = sl.compress(parts(X[:400], y[:400], size=200), checkpoint=link)
    assert link.is_symlink()
    stored = real.read_bytes()
    again = sl.compress(parts(X[:400], y[:400], size=200), checkpoint=link)
    assert (first.X == again.X).all()

    def full(file):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("sparselin.scale.checkpoint.os.fsync", full)
    with pytest.raises(
        OSError, match=r"the checkpoint cannot be written: No space left on device: .*real\.npz"
    ):
        sl.compress(parts(X, y, size=200), checkpoint=link)
    assert real.read_bytes() == stored
    assert {path.name for path in tmp_path.iterdir()} == {"real.npz", "link.npz", "real.npz.part"}
    assert (tmp_path / "real.npz.part").read_text() == "mine"


def test_a_checkpoint_needs_its_folder(tmp_path):
    def chunks():
        raise AssertionError("no row is read")
        yield

    with pytest.raises(FileNotFoundError, match=r"nowhere/ck must be in a folder that exists; there is no"):
        sl.compress(chunks(), checkpoint=tmp_path / "nowhere" / "ck")
