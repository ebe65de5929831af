"""To which part of the MTTKRP kernel an instruction belongs, by the text of the source lines it stems from."""
import functools
import pathlib
import re

KERNEL = "mttkrp.cuh"

# The first rule whose patterns are all found in the lines of an instruction, in its own or in one that it was inlined
# at. A line of the sources must match each pattern, so that the rules do not fall behind the kernel.
RULES = [
    ("decode index", [r"decode_column\(arguments\.index"]),
    ("decode key", [r"decode_column\(arguments\.key"]),
    ("line to BLCO index", [r"blco_index\(byte_tables"]),
    ("target rows", [r"targets\[j\] = entry < count"]),
    ("sort", [r"sort_positions\(targets"]),
    ("values decoded", [r"decode_column\(payload", r"place_values<Real>\("]),
    ("values placed", [r"place_values<Real>\("]),
    ("rows placed", [r"row_of\(arguments, tile, frame_slot\(entry\), mode\)"]),
    ("rows placed", [r"rows\[position_of\(positions, j\)\] = row"]),
    ("segment flags", [r"const bool ends ="]),
    ("segment flags", [r"__ballot_sync\("]),
    ("segment flags", [r"tile\.ends\[word\] = flags"]),
    ("prepare, the rest", [r"prepare_tile\(arguments, tables"]),
    ("add: sink", [r"own_sink\.add\("]),
    ("add: sums", [r"sums\[c\] \+= products"]),
    ("add: sums", [r"\(ends >> e & 1\) == 0"]),
    ("add: sums", [r"ends = tile\.ends\[at"]),
    ("add: sums", [r"sums\[c\] = 0"]),
    ("add: factors", [r"__ldg\(row"]),
    ("add: factors", [r"const Real\* row = factor"]),
    ("add: products", [r"products\[e\]\[c\] \*= numbers"]),
    ("add: addresses and values", [r"add_tile<Real, Lanes, Columns, Order"]),
    ("frame loop", [r"for \(std::uint64_t frame ="]),
]
BLOCK = "block"  # what is done once: tables, stash, the sums of the stash
PHASES = list(dict.fromkeys([*(phase for phase, _ in RULES), BLOCK]))


class SourcePhases:
    """Phases of instructions, from the sources under `root`."""

    def __init__(self, root):
        self.root = pathlib.Path(root)
        text = "".join(path.read_text(encoding="utf-8") for path in sorted(self.root.glob("kernels/cuda/*.cuh")))
        lost = [pattern for _, patterns in RULES for pattern in patterns if not re.search(pattern, text)]
        if lost:
            raise ValueError(f"no line of the kernels matches {lost[0]!r}: tests/sass/source_phases.py is behind them")

    @functools.lru_cache(maxsize=None)
    def _lines(self, path):
        path = pathlib.Path(path)
        return path.read_text(encoding="utf-8").splitlines() if path.is_relative_to(self.root) else []

    @functools.lru_cache(maxsize=None)
    def _phase_of(self, lines):
        texts = [self._lines(path)[number - 1] for path, number in lines if 0 < number <= len(self._lines(path))]
        for phase, patterns in RULES:
            if all(any(re.search(pattern, text) for text in texts) for pattern in patterns):
                return phase
        return BLOCK

    def of(self, instruction):
        return self._phase_of(instruction.lines)
