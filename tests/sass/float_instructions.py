"""Arithmetic of f32 and f64, comparisons and conversions; every result is rounded as the hardware rounds it."""
import fractions
import math

import numpy as np

import operand_readers as read
from integer_instructions import COMBINE, take_predicates
from machine_code import UnknownInstruction

U32, U64 = np.uint32, np.uint64


def _two_sum(a, b):
    total = a + b
    rest = total - a
    return total, (a - (total - rest)) + (b - rest)


def _odd_sum(a, b):
    """a + b rounded to odd: inexact sums end in a one, so that rounding once more is right (Boldo, Melquiond 2008)."""
    total, error = _two_sum(a, b)
    bits = total.view(np.int64)
    away = np.where((error > 0) == (total > 0), 1, -1)
    fixed = np.where((error != 0) & (bits & 1 == 0), bits + away, bits)
    return fixed.view(np.float64)


_SPLITTER = 2.0**27 + 1


def _two_product(a, b):
    product = a * b
    high_a = _SPLITTER * a - (_SPLITTER * a - a)
    high_b = _SPLITTER * b - (_SPLITTER * b - b)
    low_a, low_b = a - high_a, b - high_b
    return product, ((high_a * high_b - product) + high_a * low_b + low_a * high_b) + low_a * low_b


def _exact(number):
    return fractions.Fraction(float(number))


def fused_of_one(a, b, c):
    """a * b + c of any numbers, rounded once."""
    if not all(map(math.isfinite, (a, b, c))):
        return a * b + c
    total = _exact(a) * _exact(b) + _exact(c)
    if total == 0:
        return a * b + c
    try:
        return float(total)
    except OverflowError:
        return math.copysign(math.inf, total)


def fused(a, b, c):
    """a * b + c of f64, rounded once."""
    size = np.maximum(np.abs(a), np.maximum(np.abs(b), np.abs(c)))
    smallest = np.minimum(np.where(a == 0, 1, np.abs(a)), np.minimum(np.where(b == 0, 1, np.abs(b)),
                                                                     np.where(c == 0, 1, np.abs(c))))
    product, product_error = _two_product(a, b)
    upper, lower = _two_sum(c, product_error)
    high, low = _two_sum(product, upper)
    total = high + _odd_sum(low, lower)
    for lane in np.flatnonzero(~((size < 2.0**300) & (smallest > 2.0**-300)) | (total == 0)):
        total[lane] = fused_of_one(float(a[lane]), float(b[lane]), float(c[lane]))
    return total


def fused_single(a, b, c):
    """a * b + c of f32, rounded once: the product is exact in f64, and the sum rounded to odd."""
    product, other = a.astype(np.float64) * b.astype(np.float64), c.astype(np.float64)
    finite = np.isfinite(product) & np.isfinite(other)
    return np.where(finite, _odd_sum(product, other), product + other).astype(np.float32)


def _rounded_up(a, b, result):
    """The product of f64, no smaller than it is in truth."""
    for lane in np.flatnonzero(np.isfinite(result)):
        if _exact(result[lane]) < _exact(a[lane]) * _exact(b[lane]):
            result[lane] = np.nextafter(result[lane], np.inf)
    return result


def _arithmetic(instruction, source, put, kind, compute):
    sources = [source(instruction, text) for text in instruction.operands[1:]]
    write = put(instruction, instruction.operands[0])
    bits = U64 if kind is np.float64 else U32
    return lambda warp, mask: write(warp, compute(*(read_one(warp) for read_one in sources)).view(bits), mask)


def f64_arithmetic(instruction):
    instruction.only_modifiers("RP") if instruction.name == "DMUL" else instruction.only_modifiers()
    compute = {"DADD": np.add, "DMUL": np.multiply, "DFMA": fused}[instruction.name]
    if instruction.modifiers == ("RP",):
        compute = lambda a, b: _rounded_up(a, b, a * b)
    return _arithmetic(instruction, read.double, read.put_long, np.float64, compute)


def f32_arithmetic(instruction):
    instruction.only_modifiers()
    compute = {"FADD": np.add, "FMUL": np.multiply, "FFMA": fused_single}[instruction.name]
    return _arithmetic(instruction, read.single, read.put_word, np.float32, compute)


def fsel(instruction):
    instruction.only_modifiers()
    put = read.put_word(instruction, instruction.operands[0])
    a, b = (read.single(instruction, text) for text in instruction.operands[1:3])
    which = read.predicate(instruction, instruction.operands[3])
    return lambda warp, mask: put(warp, np.where(which(warp), a(warp).view(U32), b(warp).view(U32)), mask)


_ORDERED = {"LT": np.less, "LE": np.less_equal, "GT": np.greater, "GE": np.greater_equal, "EQ": np.equal}


def _compare(name, a, b):
    unordered = np.isnan(a) | np.isnan(b)
    if name == "NAN":
        return unordered
    if name == "NUM":
        return ~unordered
    if name == "NE":
        return (a != b) & ~unordered
    if name == "NEU":
        return (a != b) | unordered
    if name in _ORDERED:
        return _ORDERED[name](a, b)
    return _ORDERED[name[:-1]](a, b) | unordered


def setp(instruction):
    """A comparison of reals; those that end in U hold where one is no number."""
    names = [*_ORDERED, *(name + "U" for name in _ORDERED), "NE", "NEU", "NAN", "NUM"]
    instruction.only_modifiers(*names, *COMBINE)
    name, combine = instruction.modifiers[0], COMBINE[instruction.modifiers[1]]
    source = read.double if instruction.name == "DSETP" else read.single
    puts, operands = take_predicates(instruction, instruction.operands[:2])[0], instruction.operands[2:]
    a, b = (source(instruction, text) for text in operands[:2])
    third = read.predicate(instruction, operands[2])

    def execute(warp, mask):
        truth, given = _compare(name, a(warp), b(warp)), third(warp)
        results = combine(truth, given), combine(~truth, given)
        for put, result in zip(puts, results):
            put(warp, result, mask)
    return execute


def mufu(instruction):
    """Approximate functions. The code around them corrects their last bits, so the nearest number will do."""
    kinds = {("RCP",): (read.single, np.reciprocal), ("RCP64H",): (read.word, None)}
    if instruction.modifiers not in kinds:
        raise UnknownInstruction(instruction, "does not know this function")
    put = read.put_word(instruction, instruction.operands[0])
    source = kinds[instruction.modifiers][0](instruction, instruction.operands[1])

    def reciprocal_of_upper_half(warp, mask):
        number = (source(warp).astype(U64) << U64(32)).view(np.float64)
        put(warp, ((1.0 / number).view(U64) >> U64(32)).astype(U32), mask)
    if instruction.modifiers == ("RCP64H",):
        return reciprocal_of_upper_half
    return lambda warp, mask: put(warp, (np.float32(1) / source(warp)).view(U32), mask)


def fchk(instruction):
    """True where a / b in f32 takes more than the usual steps: no number, infinite, or near the ends of the range."""
    instruction.only_modifiers()
    put = read.put_predicate(instruction, instruction.operands[0])
    a, b = (read.single(instruction, text) for text in instruction.operands[1:])

    def execute(warp, mask):
        above, below = a(warp), b(warp)
        usual = np.isfinite(above) & np.isfinite(below) & (below != 0)
        # Dividend, divisor and quotient keep a margin from subnormal numbers and from infinity.
        size, divisor = np.frexp(above)[1], np.frexp(below)[1]
        usual &= (np.abs(divisor) < 125) & ((above == 0) | (np.abs(size) < 100) & (np.abs(size - divisor) < 100))
        put(warp, ~usual, mask)
    return execute


def i2f(instruction):
    """Integers to reals; RP rounds up."""
    instruction.only_modifiers("F64", "F32", "U64", "S64", "U32", "S32", "RP")
    modifiers = instruction.modifiers
    long = "U64" in modifiers or "S64" in modifiers
    kind = {(False, False): np.int32, (False, True): U32, (True, False): np.int64, (True, True): U64}[
        long, "U64" in modifiers or "U32" in modifiers]
    source = (read.long if long else read.word)(instruction, instruction.operands[1])
    f64 = "F64" in modifiers
    if long and not f64 or f64 and "RP" in modifiers:
        raise UnknownInstruction(instruction, "does not know this conversion")
    put = (read.put_long if f64 else read.put_word)(instruction, instruction.operands[0])

    def execute(warp, mask):
        numbers = source(warp).view(kind)
        result = numbers.astype(np.float64 if f64 else np.float32)
        if "RP" in modifiers:
            low = result.astype(np.float64) < numbers.astype(np.float64)
            result = np.where(low, np.nextafter(result, np.float32(np.inf)), result)
        put(warp, result.view(U64 if f64 else U32), mask)
    return execute


def f2f(instruction):
    widths = {("F64", "F32"): (read.single, read.put_long, np.float64, U64),
              ("F32", "F64"): (read.double, read.put_word, np.float32, U32)}
    if instruction.modifiers not in widths:
        raise UnknownInstruction(instruction, "does not know this conversion")
    source, put, kind, bits = widths[instruction.modifiers]
    source, put = source(instruction, instruction.operands[1]), put(instruction, instruction.operands[0])
    return lambda warp, mask: put(warp, source(warp).astype(kind).view(bits), mask)


def f2i(instruction):
    """f32 to u32, towards zero; what is out of range becomes the nearest number in it."""
    instruction.only_modifiers("FTZ", "U32", "TRUNC", "NTZ")
    if not {"U32", "TRUNC"} <= set(instruction.modifiers):
        raise UnknownInstruction(instruction, "does not know this conversion")
    put = read.put_word(instruction, instruction.operands[0])
    source = read.single(instruction, instruction.operands[1])

    def execute(warp, mask):
        numbers = np.clip(np.nan_to_num(source(warp).astype(np.float64)), 0, 2.0**32 - 1)
        put(warp, numbers.astype(U32), mask)
    return execute


DECODERS = {"DADD": f64_arithmetic, "DMUL": f64_arithmetic, "DFMA": f64_arithmetic, "FADD": f32_arithmetic,
            "FMUL": f32_arithmetic, "FFMA": f32_arithmetic, "FSEL": fsel, "FSETP": setp, "DSETP": setp, "MUFU": mufu,
            "FCHK": fchk,
            "I2F": i2f, "F2F": f2f, "F2I": f2i, "I2FP": i2f}
