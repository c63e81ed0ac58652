"""Check a certificate: `python -m sparselin.check CERTIFICATE DATA`."""

import json
import sys

from sparselin.check import path_checker


def main() -> None:
    """Call the checker of the certificate's kind."""
    if len(sys.argv) != 3:
        sys.exit("usage: python -m sparselin.check CERTIFICATE DATA")
    with open(sys.argv[1], encoding="utf-8") as file:
        given = json.load(file)
    if isinstance(given, dict) and given.get("format") == "sparselin subset certificate 1":
        from sparselin.check import subset_checker

        subset_checker.main()
    else:
        path_checker.main()


if __name__ == "__main__":
    main()
