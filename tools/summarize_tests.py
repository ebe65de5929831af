#!/usr/bin/env python3
"""Prints the skipped tests of a ctest JUnit report by reason, and one line of totals."""
import collections
import re
import sys
import xml.etree.ElementTree


def skip_reason(case):
    """What the test itself printed: the line that follows GTest's "file:line: Skipped", or a script's last line."""
    output = case.findtext("system-out") or ""
    match = re.search(r": Skipped\n(.+)", output)
    if match:
        return match.group(1).strip()
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    return lines[-1] if lines else "no reason given"


def main():
    cases = xml.etree.ElementTree.parse(sys.argv[1]).getroot().findall("testcase")
    passed = failed = 0
    skipped = collections.defaultdict(list)
    for case in cases:
        mark = case.find("skipped")
        if case.get("status") == "run":
            passed += 1
        elif mark is not None and (mark.get("message") or "").startswith(("SKIP_", "Disabled")):
            skipped[skip_reason(case)].append(case.get("name"))
        else:  # a test whose program is missing has not been skipped on purpose
            failed += 1
    for reason, names in sorted(skipped.items()):
        print(f"skipped {len(names)}: {reason}")
        for name in names:
            print(f"  {name}")
    print(f"{passed} passed, {failed} failed, {sum(map(len, skipped.values()))} skipped")


main()
