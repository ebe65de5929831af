#!/usr/bin/env python3
"""Plots and tables of a made-up measurement, read back from the SVG: every level, peak, right format and pass is there.

usage: check_plots.py
"""
import json
import pathlib
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as xml

HERE = pathlib.Path(__file__).resolve().parent


def a_format(name, right, modes):
    passes = [{"mode": m, "seconds": 2e-3, "min_seconds": 1e-3, "nominal_gflops": 1.0, "flops": 1e6 * (m + 1),
               "bytes": 4e6, "error": 0.0} for m in range(modes)]
    return {"format": name, "settings": "", "sweep_seconds": 1e-3 * modes, "nominal_gflops": 1.0, "index_bytes": 1200,
            "value_bytes": 800, "auxiliary_bytes": 0, "copies": 1, "build_seconds": 0.1, "build_sweeps": 30.0,
            "right": right, "passes": passes}


REPORT = {
    "device": "host", "threads": 2, "rank": 16, "precision": "f64", "shape": [30, 20, 10], "nonzeros": 100,
    "tolerance": 1e-12,
    "formats": [a_format("ours", True, 3), a_format("csf<all>", True, 3), a_format("coo-wrong", False, 3),
                {"format": "alto", "refusal": "it does not fit"}],
    "roofline": {"device": "A & B", "threads": 2,
                 "levels": [{"name": "L1", "bytes": 1 << 15, "bytes_per_second": 2e11},
                            {"name": "memory", "bytes": 1 << 30, "bytes_per_second": 1e10}],
                 "peaks": [{"name": "f64", "flops_per_second": 5e10}, {"name": "f32", "flops_per_second": 1e11}]}}


def texts(path):
    return [e.text for e in xml.parse(path).iter("{http://www.w3.org/2000/svg}text")]


def points(path):
    """Markers of each format: of what scatter() draws, those that lie within the frame."""
    groups = [g for g in xml.parse(path).iter("{http://www.w3.org/2000/svg}g") if g.get("id", "").startswith("PathCollection")]
    return sorted(len(list(g.iter("{http://www.w3.org/2000/svg}use"))) for g in groups)


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "small-rank16.json").write_text(json.dumps(REPORT))
        subprocess.run([sys.executable, HERE / "results.py", folder], check=True)

        roofline = folder / "small-rank16-roofline.svg"
        shown = texts(roofline)
        for text in ("ours", "csf<all>", "L1, 200 GB/s", "memory, 10 GB/s", "f64, 50 GFLOP/s", "f32, 100 GFLOP/s"):
            assert text in shown, (text, shown)
        assert any("A & B, 2 threads" in text for text in shown), shown
        assert "coo-wrong" not in shown and "alto" not in shown, shown
        assert [count for count in points(roofline) if count == 3] == [3, 3], points(roofline)
        for image in ("ratios-rank16.svg", "storage-rank16.svg"):
            assert {"ours", "csf<all>", "small"} <= set(texts(folder / image)), texts(folder / image)
        assert "![roofline](small-rank16-roofline.svg)" in (folder / "results.md").read_text()

        (folder / "machine.json").write_text(json.dumps({"roofline": REPORT["roofline"]}))
        image = folder / "machine.png"
        subprocess.run([sys.executable, HERE / "plots.py", folder / "machine.json", image], check=True)
        assert image.read_bytes().startswith(b"\x89PNG")
        (folder / "no.json").write_text("{}")
        refused = subprocess.run([sys.executable, HERE / "plots.py", folder / "no.json", image], stderr=subprocess.PIPE,
                                 text=True, check=False)
        assert refused.returncode == 1 and "has no roofline" in refused.stderr, refused


if __name__ == "__main__":
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        print("SKIPPED: no matplotlib")
        sys.exit(77)
    main()
