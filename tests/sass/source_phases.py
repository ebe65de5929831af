"""To which part of a kernel an instruction belongs, by the text of the source lines it stems from."""
import functools
import pathlib
import re

# The first rule whose patterns are all found in the lines of an instruction, in its own or in one that it was inlined
# at. A line of the sources must match each pattern, so that the rules do not fall behind the kernel.
RULES = [
    ("decode index", [r"decode_lines\(part\.index"]),
    ("decode key", [r"decode_lines\(part\.key"]),
    ("line to BLCO index", [r"look_up\(tables, arguments\.index_tables"]),
    ("decode key", [r"look_up\(tables \+ arguments\.index_tables"]),
    ("decode key", [r"tile\.keys\[j \* warp_lanes \+ lane\] = indices"]),
    ("target rows", [r"rows_of\(arguments, part, tile, arguments\.mode"]),
    ("target rows", [r"rows_of\(arguments, part, tile, mode"]),
    ("sort", [r"sort_positions\((rows|targets)"]),
    ("values", [r"place_values<Sum, Share>\("]),
    ("rows placed", [r"rows_of\(arguments, part, tile, k < mode"]),
    ("rows placed", [r"tile\.entries \+ at\[j\] \+ 8"]),
    ("rows placed", [r"tile\.targets\[(position_of\(positions, j\)|slot)\] = rows"]),
    ("rows placed", [r"at\[j\] = (place_of<Share>\(position_of\(positions, j\)\) \* static|slot_place)"]),
    ("segment flags", [r"mark_ends<Share>\(tile"]),
    ("prepare, the rest", [r"prepare_tile<group_share"]),
    ("prepare, the rest", [r"lay_out_tile<Sum, share"]),
    ("model", [r"add_parts<Sum, Factor, Shape>\("]),
    ("model", [r"sum_of_group\(sums"]),
    ("weigh", [r"weigh_tile<Sum, Factor, Shape>\("]),
    ("weigh", [r"with_rule\(function"]),
    ("reorder", [r"reorder_tile<share>\("]),
    ("first modes", [r"values\.multiply\("]),
    ("first modes", [r"TileValues<Sum, Shape> values"]),
    ("add: sink", [r"own_sink\.add\("]),
    ("add: sink", [r"atomicAdd\(to, sums"]),
    ("add: sink", [r"Sum\* to = output"]),
    ("add: sink", [r"Sum\* to = number_at\("]),
    ("add: sink", [r"atomicAdd\(to \+ c"]),
    ("add: sums", [r"sums\[c\] \+= product"]),
    ("add: sums", [r"\(flags >> e & 1\) == 0"]),
    ("add: sums", [r"const unsigned flags ="]),
    ("add: sums", [r"sums\[c\] = 0"]),
    ("add: factors", [r"__ldg\("]),
    ("add: factors", [r"const Factor\* (row|from) = "]),
    ("add: products", [r"(product|products\[e\]\[c\]) \*="]),
    ("add: entries and addresses", [r"add_pipelined<Sum, Factor"]),
    ("add: entries and addresses", [r"add_columns<Sum, Factor"]),
    ("add: entries and addresses", [r"add_products<Sum, Factor"]),
    ("frame loop", [r"for \(std::uint32_t frame ="]),
    ("frame loop", [r"visit\(part, frame"]),
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
