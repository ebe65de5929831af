"""What crosses lanes (votes, matches, shuffles), predicates, special registers and constants."""
import numpy as np

import operand_readers as read
from integer_instructions import immediate, take_predicates, wide
from machine_code import UnknownInstruction

U32, U64 = np.uint32, np.uint64
NUMBERS = np.arange(read.LANES, dtype=np.int64)
BIT = (np.uint64(1) << NUMBERS.astype(U64))
SHARED_WINDOW = 0x7F00  # the upper half of a generic address of shared memory


class WrongExecution(Exception):
    """What no correct program does: an address outside, a shuffle from a lane that is not there."""


def bits_of(truths):
    """The lanes where true, as a number of 32 bits."""
    return int(BIT[truths].sum())


def all_of(mask):
    return np.ones(read.LANES, bool) if mask is None else mask


def vote(instruction):
    """Which lanes that take part hold a predicate."""
    instruction.only_modifiers("ANY", "ALL", "U32")
    operands = instruction.operands
    put = read.put_word(instruction, operands[0])
    put_any = read.put_predicate(instruction, operands[1])
    source = read.predicate(instruction, operands[2])
    every = "ALL" in instruction.modifiers

    def execute(warp, mask):
        taking_part = all_of(mask)
        ballot = bits_of(source(warp) & taking_part)
        truth = ballot == bits_of(taking_part) if every else ballot != 0
        put(warp, np.full(read.LANES, ballot, U32), mask)
        put_any(warp, np.full(read.LANES, truth), mask)
    return execute


def voteu(instruction):
    """A vote whose result is uniform."""
    instruction.only_modifiers("ANY", "ALL")
    return vote(instruction)


def match(instruction):
    """The lanes that hold the same number."""
    instruction.only_modifiers("ANY", "U64")
    if "ANY" not in instruction.modifiers:
        raise UnknownInstruction(instruction, "does not know this match")
    put = read.put_word(instruction, instruction.operands[0])
    source = (read.long if "U64" in instruction.modifiers else read.word)(instruction, instruction.operands[1])

    def execute(warp, mask):
        numbers = source(warp)
        equal = (numbers[:, None] == numbers[None, :]) & all_of(mask)[None, :]
        put(warp, (equal * BIT).sum(axis=1).astype(U32), mask)
    return execute


def shfl(instruction):
    """Takes a number from another lane; the predicate tells whether there was one in the segment."""
    instruction.only_modifiers("UP", "DOWN", "BFLY", "IDX")
    mode = instruction.modifiers[0]
    put_valid = read.put_predicate(instruction, instruction.operands[0])
    put = read.put_word(instruction, instruction.operands[1])
    source, by, limit = (read.word(instruction, text) for text in instruction.operands[2:5])

    def execute(warp, mask):
        taking_part = all_of(mask)
        numbers = source(warp)
        step = (by(warp) & U32(31)).astype(np.int64)
        clamp, segment = (limit(warp) & U32(31)).astype(np.int64), (limit(warp) >> U32(8) & U32(31)).astype(np.int64)
        lowest = NUMBERS & segment
        highest = lowest | clamp & ~segment
        wanted = {"UP": NUMBERS - step, "DOWN": NUMBERS + step, "BFLY": NUMBERS ^ step,
                  "IDX": lowest | step & ~segment}[mode]
        valid = wanted >= highest if mode == "UP" else wanted <= highest
        lane = np.where(valid, wanted, NUMBERS)
        if not taking_part[lane[taking_part]].all():
            raise WrongExecution(f"{instruction.place()}: `{instruction.text}` takes from a lane that is not there")
        put(warp, numbers[lane], mask)
        put_valid(warp, valid, mask)
    return execute


def redux(instruction):
    """The union of the lanes' words."""
    instruction.only_modifiers("OR")
    put = read.put_word(instruction, instruction.operands[0])
    source = read.word(instruction, instruction.operands[1])

    def execute(warp, mask):
        union = np.bitwise_or.reduce(source(warp)[all_of(mask)])
        put(warp, np.full(read.LANES, union, U32), mask)
    return execute


def r2ur(instruction):
    instruction.only_modifiers()
    put = read.put_word(instruction, instruction.operands[0])
    source = read.word(instruction, instruction.operands[1])
    return lambda warp, mask: put(warp, source(warp), mask)


def _table(instruction, tables, a, b, c):
    table = immediate(instruction, tables)

    def look_up(warp):
        bits = a(warp) * 4 + b(warp) * 2 + c(warp) * 1
        return (table >> bits & 1).astype(bool)
    return look_up


def plop3(instruction):
    """Two functions of three predicates, by tables."""
    instruction.only_modifiers("LUT")
    puts, operands = take_predicates(instruction, instruction.operands[:2])[0], instruction.operands[2:]
    sources = [read.predicate(instruction, text) for text in operands[:3]]
    tables = [_table(instruction, text, *sources) for text in operands[3:5]]

    def execute(warp, mask):
        for put, result in zip(puts, [table(warp) for table in tables]):
            put(warp, result, mask)
    return execute


def p2r(instruction):
    """The predicates of a mask as bits, the others from a register."""
    instruction.only_modifiers()
    put = read.put_word(instruction, instruction.operands[0])
    other, which = (read.word(instruction, text) for text in instruction.operands[2:4])

    def execute(warp, mask):
        bits = np.zeros(read.LANES, U32)
        for number in range(7):
            bits |= warp.predicates[number].astype(U32) << U32(number)
        chosen = which(warp)
        put(warp, bits & chosen | other(warp) & ~chosen, mask)
    return execute


def r2p(instruction):
    instruction.only_modifiers()
    source = read.word(instruction, instruction.operands[1])
    which = immediate(instruction, instruction.operands[2])
    puts = [(U32(number), read.put_predicate(instruction, f"P{number}")) for number in range(7) if which >> number & 1]

    def execute(warp, mask):
        bits = source(warp).copy()
        for number, put in puts:
            put(warp, (bits >> number & U32(1)).astype(bool), mask)
    return execute


def s2r(instruction):
    """Special registers."""
    instruction.only_modifiers()
    put = read.put_word(instruction, instruction.operands[0])
    readers = {"SR_TID.X": lambda warp: warp.thread_numbers, "SR_CTAID.X": lambda warp: warp.block_number,
               "SR_LANEID": lambda warp: NUMBERS, "SR_LTMASK": lambda warp: BIT - U64(1),
               "SR_CgaCtaId": lambda warp: 0, "SR_SWINHI": lambda warp: SHARED_WINDOW}
    if instruction.operands[1] not in readers:
        raise UnknownInstruction(instruction, "does not know this special register")
    source = readers[instruction.operands[1]]
    return lambda warp, mask: put(warp, np.broadcast_to(source(warp), read.LANES).astype(U32), mask)


def ldc(instruction):
    """Constant memory: the launch's shape, the kernel's parameters, and tables of branches."""
    instruction.only_modifiers("64", "U8", "U16", "32")
    bank, offset = read.constant_place(instruction, instruction.operands[1])
    kind = (instruction.modifiers or ("32",))[0]
    long = kind == "64"
    put = (read.put_long if long else read.put_word)(instruction, instruction.operands[0])
    size = {"64": 8, "32": 4, "U16": 2, "U8": 1}[kind]
    keep = U32((1 << 8 * min(size, 4)) - 1)

    def execute(warp, mask):
        at = offset(warp)
        if (at[all_of(mask)] & U64(size - 1)).any():
            raise WrongExecution(f"{instruction.place()}: `{instruction.text}` is not aligned")
        words = warp.constant_words(bank, at) >> ((at & U64(3)) * U64(8)).astype(U32) & keep
        put(warp, words | wide(warp.constant_words(bank, at + U64(4))) << U64(32) if long else words, mask)
    return execute


DECODERS = {"VOTE": vote, "VOTEU": voteu, "MATCH": match, "SHFL": shfl, "REDUX": redux, "R2UR": r2ur, "PLOP3": plop3,
            "UPLOP3": plop3, "P2R": p2r, "R2P": r2p, "S2R": s2r, "S2UR": s2r, "LDC": ldc, "ULDC": ldc}
