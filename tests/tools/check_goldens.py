#!/usr/bin/env python3
"""goldens.py finds nothing between a build and itself, and every difference that is planted.

usage: check_goldens.py BIN_FOLDER
"""
import pathlib
import shutil
import subprocess
import sys
import tempfile

try:
    import h5py
except ImportError:
    print("SKIPPED: this needs h5py and numpy")
    sys.exit(77)

HERE = pathlib.Path(__file__).resolve().parent


def goldens(*arguments):
    command = [sys.executable, HERE / "goldens.py", *map(str, arguments), "--quick", "--data", "none"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    return result.returncode, result.stdout + result.stderr


def plant(folder):
    """Differences, and what must be said of each."""
    with h5py.File(folder / "als/m.h5", "r+") as file:
        file["weights"][0] *= 1 + 1e-9
        file.attrs.modify("seed", file.attrs["seed"] + 1)
    yield "als/m.h5: @seed by 5.0e-01; weights by 1.0e-09"
    container = bytearray((folder / "gen-counts/t.blco").read_bytes())
    container[len(container) // 2] ^= 1
    (folder / "gen-counts/t.blco").write_bytes(container)
    yield "gen-counts/t.blco: "
    (folder / "export-factors/out/weights.npy").unlink()
    yield "export-factors/out/weights.npy: is in A only"
    for name, old, new, what in (
            ("als-f32/print.txt", "sweep   2  fit 0", "sweep   2  fit 2", "als-f32/print.txt: numbers by "),
            ("als-least/print.txt", "reached the", "came to the", "words of als-least:\n    -stopped: reached"),
            ("words-info/print.txt", "Shows what", "Says what", "words of words-info:\n    -Shows what"),
            ("predict-worst/p.csv", "model", "mode", "predict-worst/p.csv: \n    -mode0,mode1,mode2,value,model")):
        text = (folder / name).read_text(encoding="utf-8")
        if old not in text:
            sys.exit(f"{name} does not have '{old}':\n{text}")
        (folder / name).write_text(text.replace(old, new, 1), encoding="utf-8")
        yield what


def main():
    with tempfile.TemporaryDirectory() as temporary:
        kept, changed = pathlib.Path(temporary, "kept"), pathlib.Path(temporary, "changed")
        for code, text in (goldens(sys.argv[1], "--save", kept), goldens(kept, sys.argv[1])):
            if code != 0:
                sys.exit(f"a build differs from itself, exit {code}:\n{text}")
        shutil.copytree(kept, changed)
        expected = list(plant(changed))
        code, text = goldens(kept, changed)
    print(text)
    missing = [what for what in expected if what not in text]
    if code != 1 or missing:
        sys.exit(f"exit {code}; not found: {missing}")


main()
