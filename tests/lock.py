"""The lock file for development, and the bill of materials of the environment that it describes.

`python -m tests.lock` prints the stored lock as requirements with hashes, for pip and any index.
With files of uv or cyclonedx-py, `make lock` first writes pylock.toml and sbom.cdx.json in the folder
`release` from them, without the addresses of an index.
"""

import json
import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent
LOCK, BILL = ROOT / "release" / "pylock.toml", ROOT / "release" / "sbom.cdx.json"
HEAD = "# Written by `make lock`. `make locked` installs it, and pip checks the hash of each file.\n"
FILE = re.compile(r'\{ url = "[^"]*/(?P<name>[^"/]+)", .*?(?P<hashes>hashes = \{[^}]*\}) \}')
# Of wheels: CPython 3.11 to 3.15 or the stable ABI, on Linux, macOS and Windows
RARE = re.compile(
    r"\bi686|musllinux|armv7l|ppc64le|s390x|riscv64|loongarch64|android|ios_|wasm|emscripten|win32"
    r"|cp3\d+t|-pp\d|graalpy|-cp3(8|9|10)-cp3"
)


def portable(text):
    """Return a lock with files in the folder `wheels` in place of addresses, without rare platforms."""
    lines = [line for line in text.splitlines() if not (line.startswith("    {") and RARE.search(line))]
    return HEAD + FILE.sub(r'{ path = "wheels/\g<name>", \g<hashes> }', "\n".join(lines)) + "\n"


def requirements():
    """Yield the requirements of the stored lock, each with the hashes of its files."""
    for package in tomllib.loads(LOCK.read_text("utf-8"))["packages"]:
        files = [*package.get("wheels", ()), *filter(None, [package.get("sdist")])]
        hashes = " ".join(f"--hash=sha256:{file['hashes']['sha256']}" for file in files)
        yield f"{package['name']}=={package['version']} ; {package['marker']} {hashes}"


def without_addresses(part):
    """Return a part of a bill of materials without links and descriptions, which name hosts."""
    if isinstance(part, dict):
        kept = part.keys() - {"externalReferences", "description"}
        return {key: without_addresses(part[key]) for key in part if key in kept}
    return [without_addresses(value) for value in part] if isinstance(part, list) else part


if __name__ == "__main__":
    for name in sys.argv[1:]:
        text = Path(name).read_text("utf-8")
        if name.endswith(".json"):
            BILL.write_text(json.dumps(without_addresses(json.loads(text)), indent=1) + "\n", "utf-8")
        else:
            LOCK.write_text(portable(text), "utf-8")
    sys.stdout.writelines(line + "\n" for line in requirements())
