#!/usr/bin/env python3
"""Adds up ctest's JUnit reports: the skipped tests by reason, one line for each part, and one of totals.

usage: summarize_tests.py PART=REPORT...

A suite of GTest is one test of ctest's, whose output says what became of each test in it: those are counted. Ends with
1 if a test failed, or a part has no report or an empty one, as when its build failed.
"""
import collections
import pathlib
import re
import sys
import xml.etree.ElementTree


def skip_reason(output):
    """What the test itself printed: the line that follows GTest's "file:line: Skipped", or a script's last line."""
    match = re.search(r": Skipped\n(.+)", output)
    if match:
        return match.group(1).strip()
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    return lines[-1] if lines else "no reason given"


def suite_results(suite, output):
    """(name, status, its output) of each test that a GTest program ran; one that did not come to its end has failed."""
    room = suite.split(".")[0]
    for part in re.split(r"^\[ RUN      \] ", output, flags=re.MULTILINE)[1:]:
        name = part.split("\n", 1)[0].strip()
        # Behind what the test itself may have printed without an end of line.
        end = re.search(rf"\[ +(OK|FAILED|SKIPPED) +\] {re.escape(name)}\b", part)
        yield f"{room}.{name}", end.group(1) if end else "FAILED", part


def read_report(path):
    """Names of the tests that passed, that failed, and of those skipped with their reasons."""
    passed, failed, skipped = [], [], []
    for case in xml.etree.ElementTree.parse(path).getroot().findall("testcase"):
        mark = case.find("skipped")
        tests = list(suite_results(case.get("name"), case.findtext("system-out") or ""))
        if tests and case.get("status") in ("run", "fail"):
            passed += [name for name, status, _ in tests if status == "OK"]
            failures = [name for name, status, _ in tests if status == "FAILED"]
            # As when a sanitizer speaks up behind the last one.
            failed += failures or ([case.get("name")] if case.get("status") == "fail" else [])
            skipped += [(name, skip_reason(output)) for name, status, output in tests if status == "SKIPPED"]
        elif case.get("status") == "run":
            passed.append(case.get("name"))
        elif mark is not None and (mark.get("message") or "").startswith(("SKIP_", "Disabled")):
            skipped.append((case.get("name"), skip_reason(case.findtext("system-out") or "")))
        else:  # a test whose program is missing has not been skipped on purpose
            failed.append(case.get("name"))
    return passed, failed, skipped


def main():
    totals, lines, reasons = collections.Counter(), [], collections.defaultdict(list)
    for argument in sys.argv[1:]:
        part, _, path = argument.partition("=")
        try:
            passed, failed, skipped = read_report(pathlib.Path(path))
        except (OSError, xml.etree.ElementTree.ParseError):
            passed, failed, skipped = [], [], []
        if not passed and not failed:
            lines.append(f"{part}: no test ran")
            totals["failed"] += 1
            continue
        for name, reason in skipped:
            reasons[reason].append(f"{part}: {name}")
        lines += [f"{part}: {name} failed" for name in failed]
        lines.append(f"{part}: {len(passed)} passed, {len(failed)} failed, {len(skipped)} skipped")
        totals.update(passed=len(passed), failed=len(failed), skipped=len(skipped))
    for reason, names in sorted(reasons.items()):
        print(f"skipped {len(names)}: {reason}")
        for name in names:
            print(f"  {name}")
    print("\n".join(lines))
    print(f"{totals['passed']} passed, {totals['failed']} failed, {totals['skipped']} skipped")
    return 1 if totals["failed"] else 0


sys.exit(main())
