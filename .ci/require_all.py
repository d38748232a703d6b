"""Fails unless each JUnit report has tests, and none that was skipped: ``python .ci/require_all.py REPORT...``."""

import sys
from xml.etree import ElementTree


def main() -> int:
    complete = True
    for path in sys.argv[1:]:
        suites = ElementTree.parse(path).iter("testsuite")  # noqa: S314 - written by our own test run
        counts = [(int(suite.get("tests", 0)), int(suite.get("skipped", 0))) for suite in suites]
        tests, skipped = (sum(column) for column in zip(*counts, strict=True))
        sys.stdout.write(f"{path}: {tests} tests, {skipped} skipped\n")
        complete = complete and tests > 0 and skipped == 0
    return 0 if complete else 1


if __name__ == "__main__":
    sys.exit(main())
