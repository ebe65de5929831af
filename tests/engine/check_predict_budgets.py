"""blco-predict keeps its budget, and writes the same table with each, on one thread and on many.

usage: check_predict_budgets.py BIN_FOLDER
"""
import hashlib
import pathlib
import sys
import tempfile

from blco_commands import Commands, mebibytes

MEBIBYTE = 1 << 20
# Beside the pages of the program and its libraries, which are files: as much as it takes to print its version.
SLACK = 4 * MEBIBYTE
SHAPE = "60000x40000x20000"


def digest_of(path):
    """Read piece by piece: a child's peak memory begins with that of its parent."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while piece := file.read(MEBIBYTE):
            digest.update(piece)
    return digest.hexdigest()


def write_table(text, table):
    with text.open(encoding="utf-8") as lines, table.open("w", encoding="utf-8") as rows:
        rows.write("user,item,day,count\n")
        for line in lines:
            user, item, day, value = line.split()
            rows.write(f"user {user},item {item},{day},{value}\n")


def main():
    commands, failures = Commands(sys.argv[1]), []
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        text, table, out = folder / "in.tns", folder / "in.csv", folder / "out.csv"
        commands.run("blco-gen", "--shape", SHAPE, "--nnz", 800000, "--skew", 2, "-o", text)
        write_table(text, table)
        columns = ["--modes", "user,item,day", "--value", "count"]
        for name, job in {"text": [text, "--shape", SHAPE], "table": [table, *columns]}.items():
            commands.run("blco-ingest", *job, "--chunk-nnz", 100000, "-o", folder / f"{name}.blco")
            commands.run("blco-cpd", folder / f"{name}.blco", "--rank", 4, "--sweeps", 1, "-o", folder / f"{name}.h5")
        program = commands.run("blco-predict", "--version")[1]
        cases = {
            "text": [folder / "text.h5", text],
            "container": [folder / "text.h5", folder / "text.blco"],
            "table": [folder / "table.h5", table, *columns],
            "worst": [folder / "text.h5", text, "--top", 100000],
        }
        for name, job in cases.items():
            digests = set()
            for budget, threads in ((32, 1), (32, 4), (512, 16)):
                options = ["--memory", f"{budget}MiB", "--threads", threads, "-o", out]
                _, peak = commands.run("blco-predict", *job, *options)
                digests.add(digest_of(out))
                print(f"{name:10} budget {budget:4} MiB, {threads:2} threads, peak {mebibytes(peak):6.1f} MiB")
                if peak > budget * MEBIBYTE + program + SLACK:
                    failures.append(f"{name}: {budget} MiB were exceeded")
            if len(digests) != 1:
                failures.append(f"{name}: {len(digests)} different tables")
    sys.exit("; ".join(failures) if failures else 0)


main()
