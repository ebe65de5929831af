#!/usr/bin/env python3
"""Checks in words what the build enforces in part: who includes whom, unique file names, files that are parts of others.

A line that begins with "note:" is advice, not a problem.

usage: check_layout.py ROOT
"""
import collections
import pathlib
import re
import subprocess
import sys

# Which folders a folder may include, beside itself: arrows that end nowhere in a circle. A folder that holds sources and
# is not listed is a problem.
COMMON = "engine/common"
MAY_INCLUDE = {
    "blco": [],
    "io": ["blco"],
    "io/file": ["blco"],
    "io/text": ["io", "io/file", "blco"],
    "io/table": ["io", "io/file", "io/text", "blco"],
    "io/arrow": ["io", "io/table", "io/text", "blco"],
    "io/hdf5": ["io/file", "blco"],
    "io/arrays": ["io", "io/file", "io/hdf5", "blco"],
    "io/container": ["io/file", "io/hdf5", "blco"],
    "io/plugin": ["io/hdf5"],
    "kernels": ["blco"],
    "kernels/host": ["kernels", "blco"],
    "kernels/cuda": ["kernels", "blco"],
    "engine/include/blco": [],
    COMMON: ["io", "kernels", "blco"],
    "engine/tensor": [COMMON, "io", "kernels", "blco"],
    "engine/ingest": ["engine/ingest/input", "engine/ingest/sort", "engine/tensor", COMMON, "io", "kernels", "blco"],
    "engine/ingest/input": ["engine/ingest/sort", "engine/tensor", COMMON, "io", "kernels", "blco"],
    "engine/ingest/sort": [COMMON, "io", "kernels", "blco"],
    "engine/stream": [COMMON, "io", "kernels", "blco"],
    "engine/work": ["engine/work/rows", "engine/stream", "engine/tensor", COMMON, "io", "kernels", "blco"],
    "engine/work/rows": ["engine/tensor", COMMON, "io", "kernels", "blco"],
    "engine/model": ["engine/tensor", COMMON, "io", "kernels", "blco"],
    "engine/fit": ["engine/fit/methods", "engine/work", "engine/work/rows", "engine/tensor", "engine/model", COMMON, "io", "kernels", "blco"],
    "engine/fit/methods": ["engine/work", "engine/work/rows", "engine/tensor", "engine/model", COMMON, "io", "kernels", "blco"],
    "engine/predict": ["engine/ingest", "engine/ingest/input", "engine/ingest/sort", "engine/tensor", "engine/model", COMMON, "io", "kernels", "blco"],
    "engine/choice": ["engine/fit", "engine/fit/methods", "engine/work", "engine/work/rows", "engine/tensor", "engine/model", COMMON, "io", "kernels", "blco"],
    "engine/report": ["engine/choice", "engine/predict", "engine/tensor", "engine/model", COMMON, "io", "kernels", "blco"],
    "tools/programs": ["tools/mpi"],
    "tools/report": [],
    "tools/mpi": [],
    "tools/python": [],
}
# Only folders of the engine name a whole room above: they may include every folder of it. Of kernels/ they see what
# stands directly in it, which names no device.
WHOLE_ROOMS = {"io"}
ROOMS = ["blco", "io", "kernels", "engine", "tools", "tests"]
SEES_PUBLIC_HEADERS = ["engine", "tools", "tests"]
PUBLIC = "engine/include/blco"
# A public header is part of the room that has what it declares: who includes it includes that room, and it includes what
# that room may.
PUBLIC_OF_ROOM = {
    COMMON: ["fields.hpp", "memory_budget.hpp", "progress.hpp", "version.hpp", "views.hpp"],
    "engine/tensor": ["export_text.hpp", "nonzeros.hpp", "statistics.hpp", "tensor.hpp", "tensor_file.hpp", "verify.hpp"],
    "engine/ingest": ["arrow.hpp", "generate.hpp", "ingest.hpp", "memory_tensor.hpp", "ttm.hpp"],
    "engine/ingest/input": ["ingest_input.hpp"],
    "engine/work": ["plan.hpp"],
    "engine/work/rows": ["compute.hpp", "peers.hpp"],
    "engine/model": ["export.hpp", "model.hpp", "model_match.hpp", "model_summary.hpp", "tucker_model.hpp"],
    "engine/fit": ["cpd.hpp", "evaluate.hpp", "option_table.hpp", "tucker.hpp"],
    "engine/fit/methods": ["cpd_method.hpp", "cpd_options.hpp", "sweep.hpp"],
    "engine/predict": ["predict.hpp"],
    "engine/choice": ["core_consistency.hpp", "rank_choice.hpp", "starts.hpp", "tucker_ranks.hpp"],
    "engine/report": ["report.hpp"],
}
ROOM_OF_PUBLIC = {name: room for room, names in PUBLIC_OF_ROOM.items() for name in names}
# Of the format, the public headers pass on these alone.
PUBLIC_OF_BLCO = ["arrow_abi.hpp", "duplicate_policy.hpp", "enum_names.hpp", "error.hpp", "input_reading.hpp",
                  "kernel_choice.hpp", "labels.hpp", "loss.hpp", "model_header.hpp", "row_constraint.hpp",
                  "stop_reason.hpp"]

METHODS = "engine/fit/methods"

TOP_LEVEL = {*ROOMS, "CMakeLists.txt", "CMakePresets.json", "README.md", "CONTRIBUTING.md", "CHANGELOG.md", ".ci",
             ".clang-format", ".gitignore", "pyproject.toml"}
SOURCES = {".hpp", ".cpp", ".cuh", ".cu"}
HEADERS = {".hpp", ".cuh"}
# What a test file defines for itself. The test files of a room are compiled in batches, so each of its own name.
DEFINED = re.compile(r"^(?:(?:struct|class) \w+|[A-Za-z][\w:<>,&* ]*[ &*]\w+\([^;{}]*\)) \{", re.MULTILINE)
# A longer file says in its head why it is one: "Over 500 lines: " and the reason.
MAX_LINES = 500
HEAD_LINES = 20
REASON = re.compile(rf"Over {MAX_LINES} lines: \S")
MAX_SOURCES = 45  # in a folder, before it wants sub-folders by meaning

# CUDA lives in folders of kernels/ that are called cuda; blco/ has loops that both compilers see.
CUDA_HEADER = re.compile(r"(cuda|cublas|cusolver|cooperative_groups|nvtx|nvToolsExt|cub/|thrust/)")
CUDA_CODE = re.compile(r"\bcu(da|blas)[A-Z]\w*|\b__(global|device|shared|host)__|#[ \t]*if.*CUDA")

# The format is pure computation, and threads live in engine/.
INTRINSICS = {"cpuid.h", "immintrin.h", "nmmintrin.h", "arm_acle.h", "arm_neon.h"}
NO_FILES_NO_THREADS = {"condition_variable", "cstdio", "filesystem", "fstream", "future", "iostream", "mutex", "thread"}

# A library ends no process, prints nothing and leaves signals and the environment to the program that it is part of.
LIBRARY = {"blco", "io", "kernels", "engine"}
UNMANNERLY = re.compile(
    r"(?<![\w.>])(?:std::|::)?(_?exit|quick_exit|abort|f?printf|f?puts|putchar|perror|signal|sigaction|pthread_sigmask|"
    r"setenv|getenv)\s*\(|\bstd::(cout|cerr|clog)\b")


def includes(path):
    text = path.read_text(encoding="utf-8")
    return re.findall(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]', text, re.MULTILINE)


def may_include(folder, other):
    """Whether sources of a folder may include headers of another one."""
    if folder == other or folder.startswith("tests"):
        return True
    allowed = MAY_INCLUDE.get(folder, [])
    if other in allowed:
        return True
    room = other.split("/")[0]
    return folder.startswith("engine/") and room in WHOLE_ROOMS and room in allowed


def find_circle(arrows):
    """Folders that lead back to the first of them, or nothing."""
    done = set()

    def follow(folder, way):
        if folder in way:
            return [*way[way.index(folder):], folder]
        if folder in done:
            return []
        for other in arrows.get(folder, []):
            circle = follow(other, [*way, folder])
            if circle:
                return circle
        done.add(folder)
        return []

    return next(filter(None, (follow(folder, []) for folder in arrows)), [])


def room_of(place):
    """The folder that a file counts to; that of a public header without a room is none."""
    folder = place.parent.as_posix()
    return ROOM_OF_PUBLIC.get(place.name, "") if folder == PUBLIC else folder


def check_include(root, room, path, bracket, name):
    """What is wrong with one include, or None."""
    first, _, rest = name.partition("/")
    folder = room_of(path)
    if bracket == "<" and first == "blco" and rest:
        if room not in SEES_PUBLIC_HEADERS:
            return "is a public header of engine/, above this room"
        if not (root / PUBLIC / rest).exists() and rest not in PUBLIC_OF_BLCO:
            return f"is not a public header: those are in {PUBLIC}"
        other = ROOM_OF_PUBLIC.get(rest)
        if room == "engine" and other and not may_include(folder, other):
            return f"{folder}/ must not know {other}/, whose public header this is"
        return None
    if PUBLIC in path.as_posix() and bracket == '"':
        return "a public header includes public headers and the standard library only"
    if first in ROOMS and rest:
        other = pathlib.PurePosixPath(name).parent.as_posix()
        if not may_include(folder, other):
            return f"{folder}/ must not know {other}/"
        if not (root / name).exists():
            return "does not exist"
        return None
    if bracket == "<" and room != "tests" and CUDA_HEADER.match(name) and not is_cuda_folder(folder):
        return OUTSIDE_CUDA
    if bracket == '"' and "/" not in name:
        return "names no folder: write \"room/folder/file.hpp\""
    if room == "blco" and (name in NO_FILES_NO_THREADS or "/" in name or (name.endswith(".h") and name not in INTRINSICS)):
        return "blco/ is pure computation on the standard library: no files, no threads"
    return None


OUTSIDE_CUDA = "CUDA lives in kernels/cuda/"


def is_cuda_folder(folder):
    return folder.startswith("kernels/") and folder.endswith("/cuda")


def hides_googles_names(root, place, name):
    """Whether a test of a room whose tests lie in namespace blco includes a header that they cannot be batched with."""
    if place.parts[:2] not in (("tests", "engine"), ("tests", "io")) or not name.startswith("tests/"):
        return False
    header = root / name
    if not header.exists() or "namespace blco::testing" not in header.read_text(encoding="utf-8"):
        return False
    batches = root / place.parts[0] / place.parts[1] / "CMakeLists.txt"
    alone = re.findall(r"\(([^()]*)\bSKIP_UNITY_BUILD_INCLUSION", batches.read_text() if batches.exists() else "")
    return not any(place.name in files for files in alone)


def without_comments(text):
    return re.sub(r"//[^\n]*", "", text)


def is_cuda(room, place, text):
    """Whether a source that may know no CUDA does; includes are looked at apart."""
    if room in ("blco", "tests") or is_cuda_folder(place.parent.as_posix()):
        return False
    return place.suffix in (".cu", ".cuh") or CUDA_CODE.search(without_comments(text)) is not None


def only_instantiates(text):
    """Whether a source does nothing but instantiate templates for a type; not one that CMake compiles once for each."""
    code = re.sub(r"^[ \t]*#[^\n]*", "", without_comments(text), flags=re.MULTILINE)
    code = re.sub(r"\bnamespace[\w: ]*\{|\}", "", code)
    return "BLCO_SUM" not in code and re.fullmatch(r"(\s*template\s[^;<]*[^;{]*;)+\s*", code) is not None


def is_public(place):
    return place.parent.as_posix() == PUBLIC or (place.parent.as_posix() == "blco" and place.name in PUBLIC_OF_BLCO)


def header_problem(header, users, lines):
    """A header has two users or a test; else it only splits a source, unless the two are too long to be one."""
    if header.parts[0] == "tests" or is_public(header) or len(users) > 1:
        return None
    if not users:
        return "no source includes it"
    user = next(iter(users))
    if user.parts[0] == "tests" or lines[header] + lines[user] > MAX_LINES:
        return None
    return f"{user} alone includes it, and no test: it is a part of that file"


def starts_threads(path):
    return re.search(r"\bstd::(jthread|thread|async)\b", path.read_text(encoding="utf-8")) is not None


def unmannerly_lines(path):
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        code = re.sub(r'"(\\.|[^"\\])*"', '""', line).split("//")[0]
        found = UNMANNERLY.search(code)
        if found:
            yield number, found.group(0).rstrip("( ")


def room_files(root):
    for room in ROOMS:
        for path in sorted((root / room).rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                yield room, path


def top_level(root):
    """Names at the top, tracked ones where git can tell: a work tree has build folders and editors' files too."""
    result = subprocess.run(["git", "-C", str(root), "ls-files"], capture_output=True, text=True, check=False)
    if result.returncode == 0 and result.stdout:
        return {line.split("/")[0] for line in result.stdout.splitlines()}
    return {path.name for path in root.iterdir()} - {".git", "build"}


def source_problems(root, room, place, text):
    if place.parent.as_posix() == METHODS and re.search(r"\bBackend\b", without_comments(text)):
        yield f"{place}: methods know a WorkerGroup and its Factors, but no Backend"
    for bracket, name in includes(root / place):
        wrong = check_include(root, room, place, bracket, name)
        if wrong:
            yield f"{place}: {name}: {wrong}"
    if not room_of(place):
        yield f"{place}: a public header without a room; say in PUBLIC_OF_ROOM which one has what it declares"
    if is_cuda(room, place, text):
        yield f"{place}: {OUTSIDE_CUDA}"
    if room in ("blco", "io", "kernels") and starts_threads(root / place):
        yield f"{place}: threads live in engine/; take an Executor"
    if room in LIBRARY:
        for number, name in unmannerly_lines(root / place):
            yield f"{place}:{number}: {name}: the library does not print, exit, or touch signals or the environment"


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    problems = [f"{name}: unexpected at the top level" for name in sorted(top_level(root) - TOP_LEVEL)]
    circle = find_circle(MAY_INCLUDE)
    if circle:
        problems.append(f"MAY_INCLUDE: a circle: {' -> '.join(circle)}")
    notes = []
    named = collections.defaultdict(list)
    defined = collections.defaultdict(list)
    sources = collections.Counter()
    users = collections.defaultdict(set)
    lines = {}
    parts = {}
    checked = 0
    for room, path in room_files(root):
        place = path.relative_to(root)
        if path.suffix not in SOURCES | {".py", ".sh", ".html"}:
            continue
        text = path.read_text(encoding="utf-8")
        lines[place] = text.count("\n")
        if lines[place] > MAX_LINES and not REASON.search("\n".join(text.splitlines()[:HEAD_LINES])):
            problems.append(f"{place}: {lines[place]} lines; split it by meaning, or say in its head "
                            f"\"Over {MAX_LINES} lines: \" and why it is one")
        if path.suffix not in SOURCES:
            continue
        named[path.name].append(str(place))
        sources[place.parent.as_posix()] += 1
        if room == "tests" and place.name.startswith("test_"):
            for what in set(DEFINED.findall(text)):
                defined[place.parts[1], what].append(str(place))
        problems += source_problems(root, room, place, text)
        if room != "tests" and place.suffix not in HEADERS and only_instantiates(text):
            parts[place] = "it only instantiates a template; compile one source several times, once for each type"
        for _, name in includes(path):
            checked += 1
            users[pathlib.Path(name)].add(place)
            if hides_googles_names(root, place, name):
                problems.append(f"{place}: {name}: opens blco::testing, which hides Google's from the test files that are "
                                "compiled with this one")
    for header in sorted(place for place in lines if place.suffix in HEADERS):
        wrong = header_problem(header, users[header], lines)
        if wrong:
            parts[header] = wrong
    problems += [f"{place}: {wrong}" for place, wrong in sorted(parts.items())]
    problems += [f"{name}: the name of {' and '.join(places)}" for name, places in sorted(named.items()) if len(places) > 1]
    problems += [f"{' and '.join(places)} both define {what.rstrip(' {')}" for (_, what), places in defined.items()
                 if len(places) > 1]
    for folder, count in sorted(sources.items()):
        if not folder.startswith("tests") and folder not in MAY_INCLUDE:
            problems.append(f"{folder}: a folder that this check does not know; say in MAY_INCLUDE what it may include")
        if count > MAX_SOURCES:
            notes.append(f"note: {folder}: {count} source files; over {MAX_SOURCES}, a folder wants sub-folders by meaning")
    if checked == 0:
        problems.append(f"{root}: no include found; is this the repository?")
    print("\n".join(notes + problems + [f"{checked} includes, {len(problems)} problems"]))
    return 1 if problems else 0


sys.exit(main())
