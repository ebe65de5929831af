#!/usr/bin/env python3
"""The interpreter of machine code, on programs of a few instructions whose results were worked out by hand."""
import pathlib
import struct
import sys
import unittest

try:
    import numpy as np
except ImportError:
    print(f"SKIPPED: {sys.executable} has no numpy: tools/install_dependencies.sh --tests")
    sys.exit(77)

import float_instructions
import launch_counts
import machine_code
import memory_instructions
import source_phases
import warp_interpreter
from lane_instructions import WrongExecution

DEVICE = 0x700000000000
LANES = np.arange(32)


def program(lines):
    """A program of instructions and labels, a line each."""
    text, address = [".text.by_hand:"], 0
    for line in lines:
        if line.endswith(":"):
            text.append(line)
        else:
            text.append(f"        /*{address:04x}*/      {line} ;")
            address += 16
    return machine_code.parse("\n".join(text))["by_hand"]


def words(*numbers):
    return struct.pack(f"<{len(numbers)}I", *numbers)


def run(*lines, registers=None, device=bytes(1024), constants=b"", tables=b"", shared_bytes=1024):
    """The warp after it ran. `registers`: {number: 32 numbers, or one for all lanes}."""
    code = program([*lines, "EXIT"])
    code.tables = tables
    memory = memory_instructions.Memory([(DEVICE, device)])
    block = warp_interpreter.Block(code, memory, warp_interpreter.constant_memory(1, 32, constants), 0, shared_bytes,
                                   warp_interpreter.Counts(code))
    warp = warp_interpreter.Warp(code, block, 0)
    for number, content in (registers or {}).items():
        warp.registers[number] = np.broadcast_to(np.asarray(content, np.uint64), 32).astype(np.uint32)
    with np.errstate(all="ignore"):
        warp.run()
    return warp


def double_registers(number, value):
    bits = np.float64(value).view(np.uint64)
    return {number: int(bits) & 0xFFFFFFFF, number + 1: int(bits) >> 32}


class Integers(unittest.TestCase):
    def expect(self, lines, registers, expected):
        """expected: {register: number in lane 0}."""
        warp = run(*lines, registers=registers)
        for number, value in expected.items():
            self.assertEqual(hex(int(warp.registers[number][0])), hex(value), f"R{number} after {lines}")

    def test_sums_carry_over_two_words(self):
        self.expect(["IADD3 R0, P0, R2, R4, RZ", "IADD3.X R1, R3, R5, RZ, P0, !PT"],
                    {2: 0xFFFFFFFF, 3: 1, 4: 2, 5: 3}, {0: 1, 1: 5})

    def test_differences_carry_where_nothing_is_taken(self):
        for taken, upper in ((0, 7), (1, 7), (6, 6)):
            self.expect(["IADD3 R0, P0, R2, -R4, RZ", "IADD3.X R1, R3, ~RZ, RZ, P0, !PT"],
                        {2: 5, 3: 7, 4: taken}, {0: (5 - taken) & 0xFFFFFFFF, 1: upper})

    def test_a_scaled_difference_carries_likewise(self):
        for frame, left in ((0, 40), (2, 40 - 512)):
            self.expect(["LEA R0, P0, -R2, R4, 0x8", "IMAD.X R1, RZ, RZ, ~R3, P0"], {2: frame, 3: 0, 4: 40},
                        {0: left & 0xFFFFFFFF, 1: 0 if left >= 0 else 0xFFFFFFFF})

    def test_addresses_of_64_bits(self):
        self.expect(["LEA R0, P0, R2, R4, 0x3", "LEA.HI.X R1, R2, R5, R3, 0x3, P0"],
                    {2: 0xF0000001, 3: 2, 4: 0x80000000, 5: 1}, {0: 8, 1: (2 << 3 | 7) + 1 + 1})

    def test_shifts_past_the_width_give_zero(self):
        for by in (0, 1, 31, 32, 33, 63, 64, 200):
            word = 0x9234567800000001
            self.expect(["SHF.L.U32 R0, R2, R4, RZ", "SHF.L.U64.HI R1, R2, R4, R3", "SHF.R.U64 R6, R2, R4, R3",
                         "SHF.R.U32.HI R7, RZ, R4, R3", "SHF.R.W.U32.HI R8, RZ, R4, R3"],
                        {2: word & 0xFFFFFFFF, 3: word >> 32, 4: by},
                        {0: (word << by) & 0xFFFFFFFF, 1: (word << by) >> 32 & 0xFFFFFFFF, 6: word >> by & 0xFFFFFFFF,
                         7: (word >> 32) >> by, 8: (word >> 32) >> by % 32})

    def test_signs_are_shifted_in(self):
        self.expect(["SHF.R.S32.HI R0, RZ, 0x1f, R2", "SHF.R.S32.HI R1, RZ, 0x4, R2"], {2: 0x80000010},
                    {0: 0xFFFFFFFF, 1: 0xF8000001})

    def test_tables_of_three_bits(self):
        self.expect(["LOP3.LUT R0, R2, R3, R4, 0xe8, !PT", "LOP3.LUT P0, RZ, R2, 0x1, RZ, 0xc0, !PT",
                     "SEL R1, R2, 0x7, P0"], {2: 0b1100, 3: 0b1010, 4: 0b0110}, {0: 0b1110, 1: 7})

    def test_bytes_and_their_signs(self):
        self.expect(["PRMT R0, R2, 0x9910, RZ", "PRMT R1, R2, 0x7610, R3"], {2: 0x1234FF80, 3: 0xAABBCCDD},
                    {0: 0xFFFFFF80, 1: 0xAABBFF80})

    def test_comparisons_of_64_bits(self):
        for low, high, expected in ((0xFF, 0, 1), (0x100, 0, 0), (0, 1, 0)):
            self.expect(["ISETP.LT.U32.AND P0, PT, R2, 0x100, PT", "ISETP.LT.U32.AND.EX P0, PT, R3, RZ, PT, P0",
                         "SEL R0, R4, RZ, P0"], {2: low, 3: high, 4: 1}, {0: expected})

    def test_products_with_signs(self):
        self.expect(["IMAD.WIDE R0, R2, R3, RZ", "IMAD.HI.U32 R4, R2, R3, RZ"], {2: 0xFFFFFFFE, 3: 3},
                    {0: 0xFFFFFFFA, 1: 0xFFFFFFFF, 4: 2})


class Reals(unittest.TestCase):
    def test_fused_products_are_rounded_once(self):
        random = np.random.default_rng(3)
        for scale in (0, 60, 900):
            a, b = (np.ldexp(random.standard_normal(32), random.integers(-scale, scale + 1, 32)) for _ in range(2))
            with np.errstate(all="ignore"):
                c = -(a * b) * (1 + random.integers(-2, 3, 32) * 2.0**-52)
            with np.errstate(all="ignore"):
                fused = float_instructions.fused(a, b, c)
            for lane in LANES:
                if np.isfinite([a[lane], b[lane], c[lane]]).all():
                    one = float_instructions.fused_of_one(float(a[lane]), float(b[lane]), float(c[lane]))
                    self.assertEqual(fused[lane], one)

    def test_single_precision_is_rounded_once(self):
        a, b = np.float32(1 + 2**-12), np.float32(1 + 2**-12)  # a b is half-way between two f32, c moves it a little
        for c in (2.0**-60, -(2.0**-60)):
            result = float_instructions.fused_single(np.full(32, a), np.full(32, b), np.full(32, np.float32(c)))
            self.assertEqual(result[0], np.float32(1 + 2**-11 + (2**-23 if c > 0 else 0)))

    def test_divisions_near_the_ends_of_the_range_take_more_steps(self):
        usual = [(1, 3), (-2e9, 1e-9), (0, 7)]
        others = [(1, 0), (1, 1e-40), (np.inf, 2), (2, np.nan), (1e30, 1e-20), (1e-38, 1), (1, 3e38)]
        a, b = np.float32(usual + others).T.copy()
        pad = np.zeros(32 - len(a), np.float32)
        warp = run("FCHK P0, R2, R3", "SEL R0, R4, RZ, P0",
                   registers={2: np.append(a, pad).view(np.uint32), 3: np.append(b, pad + 1).view(np.uint32), 4: 1})
        self.assertEqual(warp.registers[0][:len(a)].tolist(), [0] * len(usual) + [1] * len(others))

    def test_integers_become_reals_with_their_signs(self):
        warp = run("I2FP.F32.S32 R0, R2", "I2FP.F32.U32 R1, R2", registers={2: 0xFFFFFF00})
        self.assertEqual(warp.registers[0:2, 0].view(np.float32).tolist(), [-256, 0xFFFFFF00])

    def test_negative_zero_and_immediates(self):
        warp = run("DADD R0, -RZ, R2", "DMUL R4, R2, 10", "FSEL R6, RZ, 1.875, P0", registers=double_registers(2, 1.5))
        self.assertEqual(warp.registers[1][0], 0x3FF80000)
        self.assertEqual(warp.registers[5][0], 0x402E0000)  # 15
        self.assertEqual(warp.registers[6][0], 0x3FF00000)


class Lanes(unittest.TestCase):
    def test_shuffles_stay_in_the_warp(self):
        warp = run("SHFL.UP P0, R1, R0, 0x4, RZ", "SEL R2, R3, RZ, P0", registers={0: LANES * 3, 3: 1})
        self.assertEqual(warp.registers[1].tolist(), [3 * (lane - 4 if lane >= 4 else lane) for lane in LANES])
        self.assertEqual(warp.registers[2].tolist(), [int(lane >= 4) for lane in LANES])

    def test_matches_and_votes(self):
        warp = run("MATCH.ANY R1, R0", "ISETP.GE.AND P0, PT, R2, 0x1e, PT", "VOTE.ANY R3, PT, P0",
                   registers={0: LANES % 4, 2: LANES})
        self.assertEqual([int(mask) for mask in warp.registers[1]], [0x11111111 << lane % 4 for lane in LANES])
        self.assertEqual(int(warp.registers[3][0]), 0xC0000000)

    def test_unites_the_words_of_lanes(self):
        warp = run("ISETP.GE.AND P0, PT, R1, 0x10, PT", "@!P0 REDUX.OR UR4, R0", "MOV R2, UR4",
                   registers={0: 1 << LANES % 20, 1: LANES})
        self.assertEqual(int(warp.registers[2][0]), 0xFFFF)

    def test_lanes_that_branch_apart_meet_again(self):
        warp = run("BSSY B0, `(.L_meet)", "ISETP.GE.AND P0, PT, R0, 0x8, PT", "@P0 BRA `(.L_high)", "MOV R1, 0x1",
                   "BRA `(.L_end)", ".L_high:", "MOV R1, 0x2", ".L_end:", "BSYNC B0", ".L_meet:", "VOTE.ANY R2, PT, PT",
                   registers={0: LANES})
        self.assertEqual(warp.registers[1].tolist(), [1] * 8 + [2] * 24)
        self.assertEqual(int(warp.registers[2][31]), 0xFFFFFFFF)
        self.assertEqual(warp.counts.instructions[-2:].tolist(), [1, 1])

    def test_lanes_apart_take_part_in_a_collective(self):
        warp = run("UMOV UR4, 0xffffffff", "ISETP.GE.AND P0, PT, R0, 0x8, PT", "@P0 BRA `(.L_later)", ".L_later:",
                   "BRA.DIV UR4, `(.L_apart)", "SHFL.UP PT, R1, R0, 0x1, RZ", "BRA `(.L_end)", ".L_apart:",
                   "IMAD.MOV.U32 R5, RZ, RZ, -0x1", "WARPSYNC.COLLECTIVE R5, `(.L_back)", "SHFL.UP PT, R1, R0, 0x1, RZ",
                   "ENDCOLLECTIVE", ".L_back:", "VOTE.ANY R2, PT, PT", ".L_end:", registers={0: LANES})
        self.assertEqual(warp.registers[1].tolist(), [0, *range(31)])
        self.assertEqual([int(number) for number in warp.registers[2]], [0xFF] * 8 + [0xFFFFFF00] * 24)

    def test_returns_to_different_places(self):
        warp = run("ISETP.GE.AND P0, PT, R0, 0x8, PT", "MOV R9, 0x40", "@P0 MOV R9, 0x60", "CALL.REL.NOINC `($twice)",
                   "MOV R2, 0x1", "EXIT", "MOV R2, 0x2", "EXIT", "$twice:", "IADD3 R1, R0, R0, RZ",
                   "RET.REL.NODEC R9 `(by_hand)", registers={0: LANES})
        self.assertEqual(warp.registers[1].tolist(), [2 * lane for lane in LANES])
        self.assertEqual(warp.registers[2].tolist(), [1] * 8 + [2] * 24)


    def test_branches_through_a_table(self):
        lines = ["LDC R8, c[0x2][R0+0x4]", "SHF.R.S32.HI R9, RZ, 0x1f, R8",
                 'BRX R8 -0x30                     (*"BRANCH_TARGETS .L_one,.L_two"*)',
                 ".L_two:", "MOV R1, 0x2", "EXIT", ".L_one:", "MOV R1, 0x1"]
        warp = run(*lines, registers={0: LANES // 10 * 4}, tables=words(0, 0x50, 0x30, 0x30, 0x50))
        self.assertEqual(warp.registers[1].tolist(), [1] * 10 + [2] * 20 + [1] * 2)
        warp = run(*(line.replace("BRX R8", "BRXU UR8").replace("LDC R8", "ULDC UR8").replace("R0+", "UR0+")
                     for line in lines), tables=words(0, 0x30))
        self.assertEqual(warp.registers[1].tolist(), [2] * 32)
        with self.assertRaisesRegex(WrongExecution, "jumps to 0x38, where no instruction begins"):
            run(*lines, registers={0: 0}, tables=words(0, 0x38))

    def test_reads_the_tables_of_a_kernel_from_its_file(self):
        names, content = b"\0.names\0.nv.constant2.kernel\0", words(0x10, 0x20)
        headers = [(0, 0, 0, 0), (1, 64, len(names), 0), (8, 64 + len(names), len(content), 0)]
        table = b"".join(struct.pack("<2I4Q24x", name, 0, 0, 0, at, size) for name, at, size, _ in headers)
        begin = 64 + len(names) + len(content)
        elf = bytes(0x28) + struct.pack("<Q10x3H", begin, 64, 3, 1) + names + content + table
        self.assertEqual(machine_code.sections(elf)[".nv.constant2.kernel"], content)


class Memories(unittest.TestCase):
    address = {4: [(DEVICE & 0xFFFFFFFF) + 8 * lane for lane in range(32)], 5: DEVICE >> 32}

    def test_wavefronts_and_sectors(self):
        for stride, wavefronts in ((4, 1), (8, 2), (128, 32), (0, 1)):
            self.assertEqual(memory_instructions.wavefronts((LANES * stride).astype(np.uint64), 4, LANES), wavefronts)
        self.assertEqual(memory_instructions.wavefronts((LANES * 8).astype(np.uint64), 8, LANES), 2)
        ends = np.array([0, 31])  # of two halves
        self.assertEqual(memory_instructions.wavefronts((ends * 8).astype(np.uint64), 8, ends), 2)
        warp = run("LDG.E.64 R0, desc[UR4][R4.64]", registers=self.address)
        self.assertEqual(warp.counts.device.tolist(), [8, 0])

    def test_additions_to_one_address_all_count(self):
        one = {**double_registers(0, 1.0), 4: DEVICE & 0xFFFFFFFF, 5: DEVICE >> 32}
        warp = run("REDG.E.ADD.F64.RN.STRONG.GPU desc[UR4][R4.64], R0", registers=one)
        self.assertEqual(warp.block.device.read(DEVICE, 1, np.float64)[0], 32)
        self.assertEqual(warp.counts.additions[0], 1)

    def test_loops_of_compare_and_swap_add_for_every_lane(self):
        warp = run("BSSY B0, `(.L_end)", ".L_again:", "LDS.64 R2, [R8]", "DADD R4, R2, R0",
                   "ATOMS.CAST.SPIN.64 R4, [R8], R2, R4", "ISETP.EQ.U32.AND P0, PT, R4, 0x1, PT",
                   "@!P0 BRA `(.L_again)", "BSYNC B0", ".L_end:",
                   registers={**double_registers(0, 1.0), 8: 0x400 + LANES // 8 * 8})
        self.assertEqual(warp.block.shared.read(0x400, 4, np.float64).tolist(), [8, 8, 8, 8])

    def test_a_swap_gives_the_old_number(self):
        place = {4: DEVICE & 0xFFFFFFFF, 5: DEVICE >> 32, 6: 0, 7: 0, 8: LANES + 1, 9: 0}
        warp = run("ATOMG.E.CAS.64.STRONG.GPU PT, R0, [R4], R6, R8", registers=place)
        self.assertEqual(warp.registers[0].tolist(), [0] + [1] * 31)

    def test_parameters_lie_in_constant_memory(self):
        warp = run("LDC.64 R0, c[0x0][0x210]", "LDC.U8 R2, c[0x0][0x211]", "ULDC UR4, c[0x0][0x0]", "MOV R3, UR4",
                   constants=bytes(range(1, 9)))
        self.assertEqual([hex(int(warp.registers[number][0])) for number in range(4)],
                         ["0x4030201", "0x8070605", "0x2", "0x20"])


class Refusals(unittest.TestCase):
    def expect(self, error, message, *lines, **options):
        with self.assertRaisesRegex(error, message):
            run(*lines, **options)

    def test_names_what_it_does_not_know_and_where(self):
        unknown = machine_code.UnknownInstruction
        self.expect(unknown, r"by_hand at 0x0010: `HMMA.16816.F32 R0, R4, R8, RZ`", "NOP",
                    "HMMA.16816.F32 R0, R4, R8, RZ")
        self.expect(unknown, r"does not know \.SAT", "FADD.SAT R0, R1, R2")
        self.expect(unknown, r"is no place in constant bank 0 or 2", "MOV R0, c[0x3][0x0]")
        self.expect(unknown, r"special register", "S2R R0, SR_CLOCKLO")

    def test_stops_at_wrong_addresses(self):
        place = {4: (DEVICE & 0xFFFFFFFF) + LANES * 32 + 4, 5: DEVICE >> 32}
        self.expect(WrongExecution, "outside of all memory", "LDG.E R0, desc[UR4][R4.64+0x20]", registers=place)
        self.expect(WrongExecution, "not aligned", "LDG.E.64 R0, desc[UR4][R4.64]", registers=place)
        self.expect(WrongExecution, "outside of all memory", "LDS R0, [R4]", registers={4: 0x3FC})
        self.expect(WrongExecution, "outside of all memory", "STS [R4], R0", registers={4: 0x400 + 1024})

    def test_stores_single_bytes(self):
        warp = run("STS.U8 [R4], R0", "LDS R1, [R8]",
                   registers={0: LANES + 0x100, 4: 0x400 + LANES, 8: 0x400 + LANES // 4 * 4})
        self.assertEqual(int(warp.registers[1][0]), 0x03020100)

    def test_stops_at_shuffles_from_lanes_that_are_not_there(self):
        self.expect(WrongExecution, "takes from a lane that is not there", "ISETP.GE.AND P0, PT, R0, 0x8, PT",
                    "@P0 SHFL.UP PT, R1, R0, 0x1, RZ", registers={0: LANES})

    def test_stops_where_lanes_wait_for_ever(self):
        self.expect(WrongExecution, "never come", "ISETP.GE.AND P0, PT, R0, 0x8, PT", "@P0 BRA `(.L_later)",
                    "WARPSYNC.ALL", ".L_later:", "WARPSYNC.ALL", registers={0: LANES})


class Counts(unittest.TestCase):
    entry = {"per nonzero": dict.fromkeys(launch_counts.NAMES.values(), 10.0), "spilled bytes": 24,
             "static shared bytes": 0, "instructions of a warp outside the frames": 200.0, "resident warps": 24}

    def changed(self, **entries):
        return launch_counts.rises("some_case", self.entry, {**self.entry, **entries})

    def test_names_what_rises_by_more_than_three_percent(self):
        per_nonzero = self.entry["per nonzero"]
        self.assertEqual(self.changed(**{"per nonzero": {**per_nonzero, "instructions": 10.29, "sectors": 5.0}}), [])
        self.assertEqual(self.changed(**{"per nonzero": {**per_nonzero, "instructions": 10.31}}),
                         ["some_case: instructions: 10.0, now 10.31"])
        self.assertEqual(self.changed(**{"spilled bytes": 32}), ["some_case: spilled bytes: 24, now 32"])
        self.assertEqual(self.changed(**{"resident warps": 16}), ["some_case: resident warps: 24, now 16"])

    def test_phases_follow_source_lines_from_the_inner_to_the_outer(self):
        root = pathlib.Path(__file__).resolve().parents[2]
        phases = source_phases.SourcePhases(root)
        lines = {}
        for name in ("tile.cuh", "segments.cuh", "mttkrp.cuh"):
            path = root / "kernels/cuda" / name
            lines[name] = (str(path), path.read_text(encoding="utf-8").splitlines())

        def place(name, text):
            path, content = lines[name]
            return path, next(number for number, line in enumerate(content, 1) if text in line)

        instruction = machine_code.Instruction("by_hand", 0, 0, "NOP", (
            place("tile.cuh", "ExclusiveSum(own, before)"),
            place("tile.cuh", "start = exclusive_sum(own);"),
            place("tile.cuh", "sort_positions(rows, lane"), place("mttkrp.cuh", "prepare_tile<group_share")))
        self.assertEqual(phases.of(instruction), "sort")
        instruction.lines = (place("segments.cuh", "to[i] = from[i]"),)
        self.assertEqual(phases.of(instruction), source_phases.BLOCK)


if __name__ == "__main__":
    unittest.main(verbosity=1)
