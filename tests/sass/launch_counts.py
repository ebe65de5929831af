"""What launches execute, per nonzero and phase, and counts.json: the table that it is compared with."""
import json
import pathlib
import re

from source_phases import BLOCK, PHASES

# Per nonzero: how often a warp issued an instruction; passes over shared memory; sectors of 32 bytes of device memory
# read or written, and those that atomic additions touch; loads and stores of spilled registers.
NAMES = {"instructions": "instructions", "shared": "shared wavefronts", "device": "sectors", "additions":
         "sectors of additions", "local": "accesses to spilled registers"}
MAX_RISE = 1.03
MAX_OF_MTTKRPS = 1.15  # a loss pass to all modes, over the MTTKRPs of all modes
SMALLEST = 0.005  # per nonzero: below it a rise is not looked at


def entry(launch, kernel, counts, phases):
    """The entry of one launch. Phases: [instructions, shared wavefronts, sectors, sectors of additions]."""
    totals = {phase: dict.fromkeys(NAMES, 0) for phase in PHASES}
    for instruction in kernel.program.instructions:
        if counts.instructions[instruction.index]:
            total = totals[phases.of(instruction)]
            for name in NAMES:
                total[name] += int(getattr(counts, name)[instruction.index])
    once = totals.pop(BLOCK)
    warps = launch.blocks * launch.threads // 32
    per_nonzero = {text: round(sum(total[name] for total in totals.values()) / launch.nnz, 3)
                   for name, text in NAMES.items()}
    return {
        "kernel": launch.kernel,
        "threads": launch.threads,
        "registers": kernel.registers,
        "spilled bytes": kernel.spilled_bytes,
        "static shared bytes": kernel.static_shared_bytes,
        "shared bytes": launch.shared_bytes,
        "resident warps": kernel.resident_warps(launch.threads, launch.shared_bytes),
        "instructions of a warp outside the frames": round(once["instructions"] / warps, 1),
        "per nonzero": per_nonzero,
        "phases": {phase: [round(total[name] / launch.nnz, 3) for name in list(NAMES)[:4]]
                   for phase, total in totals.items() if total["instructions"]},
    }


def put_beside(beside, entries):
    """Puts into the entries of loss passes what the MTTKRPs of the same modes executed, whose entries it takes out;
    returns what is wrong. `beside`: {name of a loss pass: names of its MTTKRPs}, which may be empty."""
    problems = []
    for name, mttkrps in beside.items():
        if not mttkrps or name not in entries or not set(mttkrps) <= set(entries):
            continue
        instructions = sum(entries.pop(mttkrp)["per nonzero"]["instructions"] for mttkrp in mttkrps)
        entries[name]["instructions of MTTKRPs"] = round(instructions, 3)
        ratio = entries[name]["per nonzero"]["instructions"] / instructions
        print(f"{name}: {ratio:.2f} times the instructions of {len(mttkrps)} MTTKRPs")
        if ratio > MAX_OF_MTTKRPS:
            problems.append(f"{name}: {ratio:.2f} times the instructions of {len(mttkrps)} MTTKRPs, more than "
                            f"{MAX_OF_MTTKRPS}")
    return problems


def rises(name, old, new):
    """What of an entry has become worse."""
    pairs = [(text, old["per nonzero"][text], new["per nonzero"][text]) for text in NAMES.values()]
    pairs += [(text, old[text], new[text]) for text in ("spilled bytes", "static shared bytes",
                                                        "instructions of a warp outside the frames")]
    worse = [f"{name}: {text}: {before}, now {now}" for text, before, now in pairs
             if now > before * MAX_RISE and now - before > SMALLEST]
    if new["resident warps"] < old["resident warps"]:
        worse.append(f"{name}: resident warps: {old['resident warps']}, now {new['resident warps']}")
    return worse


def compare(path, version, entries, is_whole):
    """What is wrong with new entries beside those of the file. is_whole: every case has run."""
    recorded = json.loads(pathlib.Path(path).read_text(encoding="utf-8"))
    if recorded["nvcc"] != version:
        print(f"counts are not compared: those of {path} are of nvcc {recorded['nvcc']}, this is {version}")
        return []
    problems = []
    for name, new in entries.items():
        old = recorded["cases"].get(name)
        problems += rises(name, old, new) if old else [f"{name}: not in {path}: run with --record"]
    if is_whole:
        problems += [f"{name}: in {path}, but not run" for name in recorded["cases"] if name not in entries]
    return problems


def write(path, version, entries, keep_others):
    path = pathlib.Path(path)
    cases = json.loads(path.read_text(encoding="utf-8"))["cases"] if keep_others and path.exists() else {}
    text = json.dumps({"nvcc": version, "cases": {**cases, **entries}}, indent=1)
    # A list of numbers in a line.
    text = re.sub(r"\[\s+([-\d.,\s]+?)\s+\]", lambda found: "[" + re.sub(r"\s+", " ", found.group(1)) + "]", text)
    path.write_text(text + "\n", encoding="utf-8")


def table(entries):
    """The phases of all entries, in Markdown: warp instructions per nonzero."""
    lines = ["| phase | " + " | ".join(entries) + " |", "| --- |" + " ---: |" * len(entries)]
    for phase in PHASES[:-1]:
        numbers = [found["phases"].get(phase, [0])[0] for found in entries.values()]
        lines.append(f"| {phase} | " + " | ".join(f"{number:.2f}" for number in numbers) + " |")
    for text in NAMES.values():
        numbers = [found["per nonzero"][text] for found in entries.values()]
        lines.append(f"| {text} | " + " | ".join(f"{number:.2f}" for number in numbers) + " |")
    return "\n".join(lines)
