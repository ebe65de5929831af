"""The jobs of goldens.py: a table of commands, what is made of lists, and inputs."""
import pathlib
import re
import shlex
import subprocess
import sys

import h5py
import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "engine"))
from method_jobs import METHOD_JOBS, make_method_tensors  # noqa: E402

QUICK = "words-info|gen-counts|duplicates-max|table$|export-factors|predict-worst|als(-resumed|-least|-f32)?$|info-labels"
PROGRAMS = ("ingest", "cpd", "info", "export", "predict", "gen")

ORDERS = "--modes 'product,city,ordered at:weekday,ordered at:hour-of-day' --value quantity --missing skip"
# Name and command: @ is the job's folder, other folders are those of other jobs; LEAST is the least memory, which the
# program names. What begins with "refused" fails. A line that begins with blanks goes on.
JOBS = r"""
gen-text       blco-gen --shape 300x200x100 --nnz 20000 --seed 2 --noise 0.5 -o @/t.tns
gen-gzip       blco-gen --shape 300x200x100 --nnz 20000 --skew 3 -o @/t.tns.gz
gen-zstd       blco-gen --shape 300x200x100 --nnz 20000 --rank 0 -o @/t.tns.zst
gen-counts     blco-gen --shape 300x200x100 --nnz 20000 --counts --reorder frequency --compression small -o @/t.blco
large          blco-gen --shape 3000x2000x1000 --nnz 500000 --skew 2 --noise 1 --chunk-nnz 30000 -o @/t.blco
large-text     blco-gen --shape 3000x2000x1000 --nnz 1000000 --skew 2 --counts -o @/t.tns
gen-spilled    blco-gen --shape 3000x2000x1000 --nnz 1000000 --skew 2 --chunk-nnz 30000 --memory LEAST -o @/t.blco
line           blco-gen --shape 5000 --nnz 9000 --counts --chunk-nnz 999 -o @/t.blco
flat           blco-gen --shape 4000x300 --nnz 30000 --counts --chunk-nnz 7000 -o @/t.blco
deep           blco-gen --shape 30x20x10x12x7x5 --nnz 30000 --counts --chunk-nnz 7000 -o @/t.blco
wide           blco-gen --shape 120000x110000x130000x70000 --nnz 30000 --skew 4 --counts --chunk-nnz 7000 -o @/t.blco
large-labelled blco-ingest large-text/t.tns --labels 0=inputs/3000.map --reorder frequency --chunk-nnz 50000 -o @/t.blco

text           blco-ingest inputs/t.tns --chunk-nnz 5000 -o @/t.blco
text-from-0    blco-ingest inputs/t.tns inputs/t.tns --index-base 0 --skip-lines 7 --shape 999x999x999 -o @/t.blco
text-market    blco-ingest inputs/t.mtx --mode-names row,column -o @/t.blco --json
text-labels    blco-ingest inputs/t.tns --mode-names who,what,when --labels who=inputs/3000.map -o @/t.blco
text-reorder   blco-ingest inputs/t.tns --reorder frequency --chunk-nnz 5000 --labels 0=inputs/3000.map -o @/t.blco
reorder-wide   blco-ingest inputs/wide.tns --reorder frequency --chunk-nnz 1000 -o @/t.blco --threads 2
spilled        blco-ingest large-text/t.tns --chunk-nnz 50000 --memory LEAST -o @/t.blco
spilled-two    blco-ingest large-text/t.tns --chunk-nnz 50000 --memory LEAST --threads 2 --duplicates last -o @/t.blco
spilled-names  blco-ingest large-text/t.tns --reorder frequency --chunk-nnz 50000 --memory LEAST -o @/t.blco
in-memory-two  blco-ingest large-text/t.tns --chunk-nnz 50000 --threads 2 -o @/t.blco
arrays         blco-ingest inputs/t.npz -o @/t.blco
arrays-two     blco-ingest inputs/t.npz inputs/t.npz --memory LEAST -o @/t.blco
arrays-hdf5    blco-ingest inputs/t.h5:/list -o @/t.blco --json
table          blco-ingest inputs/orders.csv ORDERS -o @/t.blco
table-bins     blco-ingest inputs/orders.csv --modes 'customer,ordered at:day:every,price:bins=20,quantity:quantiles=3'
               --missing unknown -o @/t.blco
table-times    blco-ingest inputs/orders.csv --modes 'city,ordered at:month,ordered at:week,ordered at:minute'
               --missing skip -o @/t.blco --json
table-least    blco-ingest inputs/orders.csv --modes 'order,note,product' --value price --missing none
               --memory LEAST -o @/t.blco
table-grown    blco-ingest inputs/orders.csv inputs/more.csv ORDERS --labels-from table/t.blco -o @/t.blco
table-german   blco-ingest inputs/german.csv --modes 'user name,"item, long"' --value price --decimal ,
               --missing skip -o @/t.blco
refused-table  blco-ingest inputs/orders.csv --modes product,city -o @/t.blco
refused-sum    blco-ingest inputs/t.tns --duplicates error -o @/t.blco
refused-model  blco-cpd large/t.blco --rank 4 --memory 1M -o @/m.h5

large-als      blco-cpd large/t.blco --rank 16 --sweeps 6 -o @/m.h5
large-least    blco-cpd large/t.blco --rank 16 --sweeps 3 --memory LEAST -o @/m.h5
large-mixture  blco-cpd large/t.blco --rank 16 --sweeps 6 --momentum off --memory 13MiB -o @/m.h5
large-packed   blco-cpd large/t.blco --rank 16 --sweeps 6 --momentum off --memory 18MiB -o @/m.h5 --json
large-f32      blco-cpd large/t.blco --rank 16 --sweeps 6 --precision f32 -o @/m.h5
large-two      blco-cpd large/t.blco --rank 9 --sweeps 4 --deterministic --threads 2 --memory LEAST -o @/m.h5 --json
large-adam     blco-cpd large/t.blco --rank 7 --sweeps 2 --method gcp --loss huber:0.5 -o @/m.h5
high-rank      blco-cpd methods/counts.blco --rank 150 --sweeps 2 -o @/m.h5
orders         blco-cpd table/t.blco --rank 4 -o @/m.h5
orders-grown   blco-cpd table-grown/t.blco --init orders/m.h5 --sweeps 9 -o @/m.h5
orders-json    blco-cpd table-bins/t.blco --rank 3 --sweeps 4 --json --seed 9 -o @/m.h5
init           blco-cpd methods/counts.blco --init als/m.h5 --sweeps 3 -o @/m.h5
init-box       blco-cpd methods/counts.blco --init als/m.h5 --box 0:0.1:0 --sweeps 3 -o @/m.h5
init-apr       blco-cpd methods/counts.blco --init als-nonnegative/m.h5 --method apr --sweeps 3 -o @/m.h5
every          blco-cpd methods/counts.blco --rank 3 --sweeps 7 --tolerance 0 --checkpoint @/c.h5 --every 3 -o @/m.h5
continued      blco-cpd methods/counts.blco --resume als/m.h5 --sweeps 9 -o @/m.h5
starts         blco-cpd methods/counts.blco --rank 4 --starts 3 --sweeps 5 -o @/m.h5
starts-gcp     blco-cpd methods/ones.blco --rank 2 --starts 2 --sweeps 2 --method gcp --loss bernoulli-logit
               -o @/m.h5 --json
ranks          blco-cpd methods/counts.blco --rank 1,2,5 --starts 2 --sweeps 5 -o @/m-{rank}.h5
ranks-json     blco-cpd methods/counts.blco --rank 3,2 --sweeps 4 --nonnegative --json
ranks-complete blco-cpd methods/ratings.blco --rank 2,3 --starts 2 --sweeps 6 --method complete
               --ridge 3 --validate methods/held-out.blco -o @/m-{rank}.h5
rated          blco-gen --shape 60x50x40 --nnz 8000 --rank 2 --seed 3 --chunk-nnz 3000 -o @/t.blco
rated-held-out blco-gen --shape 60x50x40 --nnz 900 --rank 2 --seed 3 --noise 0.1 -o @/t.blco
validated      blco-cpd rated/t.blco --rank 2 --method complete --ridge 0.1 --validate rated-held-out/t.blco -o @/m.h5
plan           blco-cpd large/t.blco --rank 16 --dry-run
plan-least     blco-cpd large/t.blco --rank 16 --dry-run --memory LEAST --json
plan-apr       blco-cpd large/t.blco --rank 16 --dry-run --method apr --memory LEAST --starts 3
plan-gpu       blco-cpd large/t.blco --rank 16 --dry-run --declare-gpu 16GiB
plan-gpu-json  blco-cpd large/t.blco --rank 16 --dry-run --declare-gpu 48MiB --json

info           blco-info large/t.blco
info-wide      blco-info reorder-wide/t.blco --json
info-labels    blco-info table/t.blco --histogram
info-histogram blco-info large/t.blco --histogram --memory LEAST --json
info-wider     blco-info wide/t.blco --histogram --threads 2
info-verify    blco-info gen-counts/t.blco --verify
info-verify-2  blco-info spilled/t.blco --verify --threads 2 --json
info-model     blco-info orders/m.h5 --components all --top 5
info-model-0   blco-info als-nonnegative/m.h5 --index-base 0 --json
info-checked   blco-info apr/m.h5 --verify
info-compare   blco-info als/m.h5 --compare als-f32/m.h5
info-matched   blco-info large-als/m.h5 --compare large-als/m.h5 --json
export         blco-export large/t.blco -o @/t.tns
export-two     blco-export text-reorder/t.blco -o @/t.tns.gz --index-base 0 --threads 2
export-table   blco-export table/t.blco -o @/t.csv
export-zstd    blco-export table-bins/t.blco -o @/t.tsv.zst
export-pipe    blco-export text-reorder/t.blco -o - --format csv
export-wide    blco-export reorder-wide/t.blco -o @/t.tns --json
export-factors blco-export als/m.h5 -o @/out
export-labels  blco-export orders/m.h5 -o @/out --format txt --index-base 0
predict        blco-predict als/m.h5 methods/counts.blco -o @/p.csv
predict-text   blco-predict als/m.h5 inputs/t.tns -o @/p.tsv.gz --index-base 0 --loss huber:2
predict-worst  blco-predict als-nonnegative/m.h5 methods/counts.blco -o @/p.csv --loss poisson --top 30
predict-table  blco-predict orders/m.h5 inputs/more.csv ORDERS --skip-unknown -o @/p.csv
predict-npz    blco-predict als/m.h5 inputs/small.npz -o @/p.csv --json
predict-hdf5   blco-predict als/m.h5 inputs/t.h5:/list --summary
predict-bare   blco-predict als/m.h5 inputs/bare.tns --without-values -o -
predict-least  blco-predict large-als/m.h5 large/t.blco -o @/p.csv.zst --memory LEAST
predict-label  blco-predict large-labelled-apr/m.h5 large-labelled/t.blco --top 50 -o @/p.csv --threads 2
"""
REAL_JOBS = r"""
uber           blco-ingest data/uber-head.tns.gz --mode-names date,hour,latitude,longitude -o @/t.blco
unhcr          blco-ingest data/unhcr.tns.gz --reorder frequency -o @/t.blco
icews          blco-ingest data/icews18.tns.gz --chunk-nnz 60000 --compression small -o @/t.blco
nips           blco-ingest data/nips12.tns.gz --chunk-nnz 200000 -o @/t.blco --threads 2
darpa          blco-ingest data/darpa1998-3d-events.tns.gz -o @/t.blco --memory LEAST
darpa-5d       blco-ingest data/darpa1998-5d.tns.gz -o @/t.blco --reorder frequency
nips-info      blco-info nips/t.blco --histogram
nips-als       blco-cpd nips/t.blco --rank 8 --sweeps 4 -o @/m.h5
nips-least     blco-cpd nips/t.blco --rank 8 --sweeps 2 --nonnegative --memory LEAST -o @/m.h5
uber-als       blco-cpd uber/t.blco --rank 16 --sweeps 6 --precision mixed -o @/m.h5
uber-apr       blco-cpd uber/t.blco --rank 8 --sweeps 2 --method apr --inner 4 -o @/m.h5
darpa-als      blco-cpd darpa/t.blco --rank 8 --sweeps 5 -o @/m.h5
darpa-gcp      blco-cpd darpa-5d/t.blco --rank 4 --sweeps 2 --method gcp --loss poisson --evaluations 3 -o @/m.h5
icews-gcp      blco-cpd icews/t.blco --rank 8 --sweeps 1 --method gcp --loss bernoulli-odds
               --learning-rate 0.01 -o @/m.h5
unhcr-complete blco-cpd unhcr/t.blco --rank 4 --sweeps 2 --method complete --ridge 0.1 -o @/m.h5
uber-predict   blco-predict uber-apr/m.h5 uber/t.blco --top 100 --loss poisson -o @/p.csv
uber-export    blco-export uber/t.blco -o @/t.tns
"""
METHODS = {"als": "", "apr": "--inner 2", "gcp": "--loss poisson --evaluations 3", "complete": "--ridge 1"}
# As METHOD_JOBS, which they extend.
FITS = METHOD_JOBS | {
    "als, ridge and l1": ("counts.blco", ["--ridge", "0.5", "--l1", "0.3"]),
    "als, nonnegative l1": ("counts.blco", ["--nonnegative", "--l1", "0.3"]),
    "als, nonnegative in one mode": ("counts.blco", ["--nonnegative=1", "--ridge", "0.5"]),
    "als, box": ("counts.blco", ["--box", "0.1:0.9"]),
    "gcp, gaussian": ("counts.blco", ["--method", "gcp", "--evaluations", "5"]),
    **{f"gcp-adam, {loss}": ("counts.blco", ["--method", "gcp-adam", "--loss", loss, "--learning-rate", "0.01"])
       for loss in ("poisson-log", "gamma", "rayleigh", "huber:0.5", "beta:0.5")},
    "gcp, bernoulli-logit": ("ones.blco", ["--method", "gcp", "--loss", "bernoulli-logit"]),
    "complete, plain": ("ratings.blco", ["--method", "complete", "--cg-steps", "4"]),
}
# Of each fit: its name's ending and options; FIRST is the plain one.
VARIANTS = {"": "--sweeps 2 --checkpoint @/c.h5", "-resumed": "--sweeps 4 --resume FIRST/c.h5",
            "-whole": "--sweeps 4", "-least": "--sweeps 2 --memory LEAST", "-f32": "--sweeps 2 --precision f32",
            "-mixed": "--sweeps 2 --precision mixed --json",
            "-two": "--sweeps 2 --deterministic --threads 2 --memory LEAST"}


def make_jobs(has_data):
    """Name: command. A command that is None is make_inputs' or make_method_tensors'."""
    jobs = {"inputs": None, "methods": None}
    jobs |= {f"words-{name}": f"blco-{name} --help" for name in PROGRAMS}
    table = re.sub(r"\n +", " ", JOBS + REAL_JOBS * has_data).replace("ORDERS", ORDERS)
    jobs |= dict(line.split(None, 1) for line in table.splitlines() if line)
    for word in ("none", "auto", "fast", "small", "zstd:3"):
        jobs[f"compression-{word}"] = f"blco-ingest large-text/t.tns --compression {word} -o @/t.blco"
    for word in ("sum", "first", "last", "max", "mean", "count"):
        jobs[f"duplicates-{word}"] = f"blco-ingest inputs/t.tns --duplicates {word} -o @/t.blco"
    for tensor in ("line", "flat", "deep", "wide", "gen-counts", "spilled-two", "large-labelled"):
        for method, options in METHODS.items():
            for ending, more in {"": "", "-least": "--memory LEAST", "-f32": "--precision f32"}.items():
                jobs[f"{tensor}-{method}{ending}"] = (f"blco-cpd {tensor}/t.blco --rank 7 --sweeps 3 --method {method}"
                                                      f" {options} {more} -o @/m.h5")
    for name, (tensor, options) in FITS.items():
        first = re.sub(r"[ ,:]+", "-", name)
        words = shlex.join(f"methods/{word}" if word.endswith(".blco") else word for word in options)
        for ending, more in VARIANTS.items():
            rank = "" if "--resume" in more else "--rank 3"
            jobs[first + ending] = (f"blco-cpd methods/{tensor} {words} {rank} --tolerance 0 -o @/m.h5 "
                                    + more.replace("FIRST", first))
    for name, command in jobs.items():
        if command and "--help" not in command:
            jobs[name] += " --threads 1" * ("--threads" not in command)
        if command and command.startswith("blco-cpd ") and "--help" not in command:
            jobs[name] += " --devices cpu" * ("--declare-gpu" not in command)
            jobs[name] += " --memory 1GiB" * ("--memory" not in command)
    return jobs


def choose_jobs(jobs, pattern):
    """The jobs of this pattern and those whose files they need, in the order in which they can run."""
    chosen = {}

    def add(name):
        for needed in re.findall(r"([\w:.-]+)/", jobs[name] or ""):
            if needed in jobs and needed not in chosen:
                add(needed)
        chosen[name] = jobs[name]
    for name in jobs:
        if re.match(pattern, name) and name not in chosen:
            add(name)
    return chosen


def make_inputs(folder):
    """What people bring: text, tables, arrays. Entries of equal coordinates, unsorted."""
    source = np.random.default_rng(11)
    points = np.column_stack([source.integers(1, length, 12000) for length in (200, 150, 90)])
    points[9000:] = points[:3000]
    values = np.round(source.normal(2, 3, len(points)), 3)
    np.savetxt(folder / "t.tns", np.column_stack([points, values]), fmt="%d %d %d %.17g")
    np.savetxt(folder / "bare.tns", points[:500], fmt="%d")
    wide = np.column_stack([np.floor(2.0**length * source.random(3000)**9) + 1 for length in (19, 20, 18, 21)])
    np.savetxt(folder / "wide.tns", np.column_stack([wide, np.abs(values[:3000]) + 1]), fmt="%d %d %d %d %.17g")
    cells = np.unique(points[:, :2], axis=0)
    np.savetxt(folder / "t.mtx", np.column_stack([cells, values[:len(cells)]]), fmt="%d %d %.17g", comments="",
               header=f"%%MatrixMarket matrix coordinate real general\n200 150 {len(cells)}")
    (folder / "3000.map").write_text("".join(f'label {n % 2900}, "ü"\n' for n in range(3000)), encoding="utf-8")
    np.savez_compressed(folder / "t.npz", coords=source.integers(0, (5000, 300, 200), (300_000, 3)).T,
                        data=source.random(300_000))
    np.savez(folder / "small.npz", indices=points, values=values)
    with h5py.File(folder / "t.h5", "w") as file:
        file.create_dataset("list/indices", data=points, chunks=True, compression="gzip", track_times=False)
        file.create_dataset("list/values", data=values.astype(">f4"), track_times=False)
    for rows, name in ((20000, "orders.csv"), (23000, "more.csv")):
        subprocess.run([sys.executable, HERE / "make_orders.py", str(rows), folder / name], check=True)
    german = ['user name;"item, long";price', 'ann;"x, 1";2,5', ";y;1", '"Zoë";"say ""y""\nagain";-4', "ann;y;null", ""]
    (folder / "german.csv").write_bytes("\r\n".join(german).encode("utf-8-sig"))
