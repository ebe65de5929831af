"""Integer arithmetic, logic, shifts, comparisons and moves of registers, uniform ones included.

A decoder takes an Instruction and gives a function of a warp and a mask of lanes (None: all) that executes it.
"""
import numpy as np

import operand_readers as read
from machine_code import UnknownInstruction

U32, U64 = np.uint32, np.uint64
SHIFT = U64(32)
LOW = U64(0xFFFFFFFF)


def wide(numbers):
    return numbers.astype(U64)


def immediate(instruction, text):
    try:
        return int(text, 16)
    except ValueError:
        raise UnknownInstruction(instruction, f"{text} is no immediate") from None


def take_predicates(instruction, operands):
    """The predicates that a list of operands begins with, as writers, and the rest."""
    count = 0
    while count < len(operands) and read.is_predicate(operands[count]):
        count += 1
    return [read.put_predicate(instruction, text) for text in operands[:count]], operands[count:]


def mov(instruction):
    instruction.only_modifiers("MOV", "U32")
    put = read.put_word(instruction, instruction.operands[0])
    source = read.word(instruction, instruction.operands[1])
    return lambda warp, mask: put(warp, source(warp), mask)


def cs2r(instruction):
    instruction.only_modifiers("32")
    if instruction.operands[1] != "SRZ":
        raise UnknownInstruction(instruction, "does not know this special register")
    writer = read.put_word if instruction.modifiers else read.put_long
    put = writer(instruction, instruction.operands[0])
    zeros = np.zeros(read.LANES, U32 if instruction.modifiers else U64)
    return lambda warp, mask: put(warp, zeros, mask)


def imad(instruction):
    """d = a * b + c. MOV, IADD, SHL and U32 are names for what it is used as."""
    instruction.only_modifiers("MOV", "IADD", "SHL", "U32", "X", "WIDE", "HI", "S32")
    modifiers, operands = instruction.modifiers, instruction.operands
    if "HI" in modifiers:
        return imad_high(instruction)
    if "WIDE" in modifiers:
        return imad_wide(instruction)
    put = read.put_word(instruction, operands[0])
    a, b, c = (read.word(instruction, text) for text in operands[1:4])
    if "X" in modifiers:
        carry = read.predicate(instruction, operands[4])
        return lambda warp, mask: put(warp, a(warp) * b(warp) + c(warp) + carry(warp), mask)
    if len(operands) != 4:
        raise UnknownInstruction(instruction, "does not know so many operands")
    return lambda warp, mask: put(warp, a(warp) * b(warp) + c(warp), mask)


def _product(instruction, a, b):
    if "U32" in instruction.modifiers:
        return lambda warp: wide(a(warp)) * wide(b(warp))
    return lambda warp: (a(warp).view(np.int32).astype(np.int64) * b(warp).view(np.int32).astype(np.int64)).view(U64)


def imad_wide(instruction):
    if len(instruction.operands) != 4:
        raise UnknownInstruction(instruction, "does not know so many operands")
    a, b = (read.word(instruction, text) for text in instruction.operands[1:3])
    product = _product(instruction, a, b)
    c = read.long(instruction, instruction.operands[3])
    put = read.put_long(instruction, instruction.operands[0])
    return lambda warp, mask: put(warp, product(warp) + c(warp), mask)


def imad_high(instruction):
    if len(instruction.operands) != 4:
        raise UnknownInstruction(instruction, "does not know so many operands")
    a, b = (read.word(instruction, text) for text in instruction.operands[1:3])
    product = _product(instruction, a, b)
    c = read.long(instruction, instruction.operands[3])
    put = read.put_word(instruction, instruction.operands[0])
    return lambda warp, mask: put(warp, ((product(warp) + c(warp)) >> SHIFT).astype(U32), mask)


def _addend(instruction, text, extended):
    """A term of a sum with carries: -x is ~x + 1, so that subtraction carries as the hardware's does."""
    if text.startswith("-") and not text.startswith("-0x"):
        if extended:
            raise UnknownInstruction(instruction, "subtracts with a carry; it should take a complement")
        complement = read.word(instruction, "~" + text[1:])
        return lambda warp: wide(complement(warp)) + U64(1)
    source = read.word(instruction, text)
    return lambda warp: wide(source(warp))


def iadd3(instruction):
    """d = a + b + c (+ carries); the predicates before d tell whether one carry came out, and a second."""
    instruction.only_modifiers("X")
    put = read.put_word(instruction, instruction.operands[0])
    carries_out, terms = take_predicates(instruction, instruction.operands[1:])
    extended = "X" in instruction.modifiers
    a, b, c = (_addend(instruction, text, extended) for text in terms[:3])
    if len(terms) > 3 and not extended:
        raise UnknownInstruction(instruction, "does not know so many operands")
    carries_in = [read.predicate(instruction, text) for text in terms[3:]]

    def execute(warp, mask):
        total = a(warp) + b(warp) + c(warp)
        for carry in carries_in:
            total += carry(warp)
        put(warp, (total & LOW).astype(U32), mask)
        for number, put_carry in enumerate(carries_out, 1):
            put_carry(warp, total >> SHIFT >= number, mask)
    return execute


def viadd(instruction):
    instruction.only_modifiers()
    put = read.put_word(instruction, instruction.operands[0])
    a, b = (read.word(instruction, text) for text in instruction.operands[1:3])
    return lambda warp, mask: put(warp, a(warp) + b(warp), mask)


def minmax(instruction):
    """VIMNMX: min(a, b) where the predicate is true, else max; VIADDMNMX compares a + b with c."""
    instruction.only_modifiers("U32")
    kind = U32 if "U32" in instruction.modifiers else np.int32
    put = read.put_word(instruction, instruction.operands[0])
    sources = [read.word(instruction, text) for text in instruction.operands[1:-1]]
    smaller = read.predicate(instruction, instruction.operands[-1])
    if len(sources) != (3 if instruction.name == "VIADDMNMX" else 2):
        raise UnknownInstruction(instruction, "does not know so many operands")

    def execute(warp, mask):
        *sum_of, other = [source(warp) for source in sources]
        first = (sum_of[0] + sum_of[1] if len(sum_of) == 2 else sum_of[0]).view(kind)
        other = other.view(kind)
        chosen = np.where(smaller(warp), np.minimum(first, other), np.maximum(first, other))
        put(warp, chosen.view(U32), mask)
    return execute


def lop3(instruction):
    """Any function of three bits: bit 4 a + 2 b + c of the table. The predicate: whether a bit is set."""
    instruction.only_modifiers("LUT")
    tests, operands = take_predicates(instruction, instruction.operands)
    put = read.put_word(instruction, operands[0])
    a, b, c = (read.word(instruction, text) for text in operands[1:4])
    table = immediate(instruction, operands[4])
    also = read.predicate(instruction, operands[5])
    terms = [bits for bits in range(8) if table >> bits & 1]

    def combine(warp):
        x, y, z = a(warp), b(warp), c(warp)
        if table == 0xC0:
            return x & y
        if table == 0xFC:
            return x | y
        total = np.zeros(read.LANES, U32)
        for bits in terms:
            total |= (x if bits & 4 else ~x) & (y if bits & 2 else ~y) & (z if bits & 1 else ~z)
        return total

    def execute(warp, mask):
        result = combine(warp)
        put(warp, result, mask)
        for test in tests:
            test(warp, (result != 0) | also(warp), mask)
    return execute


def shf(instruction):
    """Shift of the 64 bits {high, low}. Shifts beyond the type's width give what is shifted in, unless they wrap."""
    instruction.only_modifiers("L", "R", "U32", "S32", "U64", "S64", "HI", "W")
    modifiers = instruction.modifiers
    left, upper = "L" in modifiers, "HI" in modifiers
    signed = "S32" in modifiers or "S64" in modifiers
    bits = 64 if "U64" in modifiers or "S64" in modifiers else 32
    put = read.put_word(instruction, instruction.operands[0])
    low, count, high = (read.word(instruction, text) for text in instruction.operands[1:4])
    if signed and left:
        raise UnknownInstruction(instruction, "does not know a signed shift to the left")

    def execute(warp, mask):
        both = wide(low(warp)) | wide(high(warp)) << SHIFT
        by = wide(count(warp))
        by = by & U64(bits - 1) if "W" in modifiers else np.minimum(by, U64(bits))
        if left:
            shifted = np.where(by < 64, both << np.minimum(by, U64(63)), U64(0))
        elif signed:
            shifted = (both.view(np.int64) >> np.minimum(by, U64(63)).view(np.int64)).view(U64)
        else:
            shifted = np.where(by < 64, both >> np.minimum(by, U64(63)), U64(0))
        put(warp, ((shifted >> SHIFT) if upper else shifted & LOW).astype(U32), mask)
    return execute


def lea(instruction):
    """d = (a << shift) + b; HI: the upper word of ({c, a} << shift), plus b. -a: ~(a << shift) + 1, with its carry."""
    instruction.only_modifiers("HI", "X", "SX32")
    put = read.put_word(instruction, instruction.operands[0])
    carries_out, operands = take_predicates(instruction, instruction.operands[1:])
    upper, sign_extended = "HI" in instruction.modifiers, "SX32" in instruction.modifiers
    negative = operands[0].startswith("-")
    if negative and instruction.modifiers:
        raise UnknownInstruction(instruction, "does not know the negative of 64 bits")
    a, b = (read.word(instruction, text) for text in (operands[0].lstrip("-"), operands[1]))
    operands = operands[2:]
    c = None
    if upper and not sign_extended:
        c, operands = read.word(instruction, operands[0]), operands[1:]
    shift = U64(immediate(instruction, operands[0]))
    extended = "X" in instruction.modifiers
    if len(operands) != (2 if extended else 1) or len(carries_out) > 1:
        raise UnknownInstruction(instruction, "does not know so many operands")
    carry_in = read.predicate(instruction, operands[1]) if extended else None

    def execute(warp, mask):
        shifted = wide(a(warp))
        if sign_extended:
            shifted = a(warp).view(np.int32).astype(np.int64).view(U64)
        elif upper:
            shifted |= wide(c(warp)) << SHIFT
        shifted = shifted << shift
        shifted = shifted >> SHIFT if upper else shifted & LOW
        total = ((LOW ^ shifted) + U64(1) if negative else shifted) + wide(b(warp))
        if extended:
            total += carry_in(warp)
        put(warp, (total & LOW).astype(U32), mask)
        for put_carry in carries_out:
            put_carry(warp, total > LOW, mask)
    return execute


def prmt(instruction):
    """Each byte of the result is one of the eight of {b, a}, or its sign eight times."""
    instruction.only_modifiers()
    put = read.put_word(instruction, instruction.operands[0])
    a, selector, b = (read.word(instruction, text) for text in instruction.operands[1:4])

    def execute(warp, mask):
        both = wide(a(warp)) | wide(b(warp)) << SHIFT
        choice = wide(selector(warp))
        total = np.zeros(read.LANES, U64)
        for place in range(0, 32, 8):
            nibble = choice >> U64(place // 2) & U64(15)
            byte = both >> (nibble & U64(7)) * U64(8) & U64(255)
            total |= np.where(nibble & U64(8), (byte >> U64(7)) * U64(255), byte) << U64(place)
        put(warp, total.astype(U32), mask)
    return execute


def sel(instruction):
    instruction.only_modifiers()
    put = read.put_word(instruction, instruction.operands[0])
    a, b = (read.word(instruction, text) for text in instruction.operands[1:3])
    which = read.predicate(instruction, instruction.operands[3])
    return lambda warp, mask: put(warp, np.where(which(warp), a(warp), b(warp)), mask)


COMBINE = {"AND": np.logical_and, "OR": np.logical_or, "XOR": np.logical_xor}
_COMPARE = {"LT": np.less, "LE": np.less_equal, "GT": np.greater, "GE": np.greater_equal, "EQ": np.equal,
            "NE": np.not_equal}


def isetp(instruction):
    """Two predicates: the comparison and its opposite, each combined with a third. EX: of upper words of 64 bits."""
    instruction.only_modifiers(*_COMPARE, *COMBINE, "U32", "S32", "EX")
    compare = _COMPARE[instruction.modifiers[0]]
    equals = instruction.modifiers[0]
    combine = COMBINE[next(modifier for modifier in instruction.modifiers if modifier in COMBINE)]
    kind = U32 if "U32" in instruction.modifiers else np.int32
    operands = instruction.operands
    put, put_opposite = (read.put_predicate(instruction, text) for text in operands[:2])
    a, b = (read.word(instruction, text) for text in operands[2:4])
    third = read.predicate(instruction, operands[4])
    extended = "EX" in instruction.modifiers
    below = read.predicate(instruction, operands[5]) if extended else None

    def execute(warp, mask):
        x, y = a(warp).view(kind), b(warp).view(kind)
        if not extended:
            truth = compare(x, y)
        elif equals == "NE":
            truth = (x != y) | below(warp)
        elif equals == "EQ":
            truth = (x == y) & below(warp)
        else:
            truth = np.where(x == y, below(warp), compare(x, y))
        given = third(warp)
        opposite = combine(~truth, given)
        put(warp, combine(truth, given), mask)
        put_opposite(warp, opposite, mask)
    return execute


def popc(instruction):
    instruction.only_modifiers()
    put = read.put_word(instruction, instruction.operands[0])
    source = read.word(instruction, instruction.operands[1])
    return lambda warp, mask: put(
        warp, np.array([int(number).bit_count() for number in source(warp).tolist()], U32), mask)


def brev(instruction):
    instruction.only_modifiers()
    put = read.put_word(instruction, instruction.operands[0])
    source = read.word(instruction, instruction.operands[1])
    return lambda warp, mask: put(
        warp, np.array([int(f"{number:032b}"[::-1], 2) for number in source(warp).tolist()], U32), mask)


def flo(instruction):
    """The highest bit set, or -1; SH: by how much to shift it to the top."""
    instruction.only_modifiers("U32", "SH")
    if "U32" not in instruction.modifiers:
        raise UnknownInstruction(instruction, "does not know it of signed numbers")
    put = read.put_word(instruction, instruction.operands[0])
    source = read.word(instruction, instruction.operands[1])
    shift = "SH" in instruction.modifiers

    def execute(warp, mask):
        places = [number.bit_length() - 1 for number in source(warp).tolist()]
        found = [(31 - place if shift and place >= 0 else place) & 0xFFFFFFFF for place in places]
        put(warp, np.array(found, U32), mask)
    return execute


_BOTH = {"MOV": mov, "IMAD": imad, "IADD3": iadd3, "LOP3": lop3, "SHF": shf, "LEA": lea, "PRMT": prmt, "SEL": sel,
         "ISETP": isetp, "POPC": popc, "BREV": brev, "FLO": flo}
DECODERS = {**_BOTH, **{"U" + name: decoder for name, decoder in _BOTH.items()}, "CS2R": cs2r, "VIADD": viadd,
            "VIMNMX": minmax, "VIADDMNMX": minmax}
