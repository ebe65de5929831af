"""Operands as functions: each is compiled once and then reads 32 lanes' numbers from a warp.

Registers of a warp are rows of one array, 32 lanes each; uniform registers are rows too, with equal numbers in all
lanes. Predicates likewise.
"""
import re
import struct

import numpy as np

from machine_code import UnknownInstruction

LANES = 32
UNIFORM = 256  # row of UR0
ROWS = 256 + 64
ZERO_ROWS = (255, UNIFORM + 63)
UNIFORM_PREDICATE = 8  # row of UP0
PREDICATE_ROWS = 16
TRUE_ROWS = (7, 15)
LOW = np.uint64(0xFFFFFFFF)
HIGH_SHIFT = np.uint64(32)

_REGISTER = re.compile(r"^(U?R)(\d+|Z)$")
_NUMBER = re.compile(r"^-?(0x[0-9a-f]+)$")
_DECIMAL = re.compile(r"^[+-]?(\d+\.?\d*(e[+-]?\d+)?|INF|QNAN|NAN)$", re.IGNORECASE)
_CONSTANT = re.compile(r"^c\[0x([02])\]\[(.+)\]$")
_PREDICATE = re.compile(r"^(!?)(U?)P([0-9T])$")


def register_row(instruction, text):
    """The row of a register, as a destination or source."""
    if text == "SRZ":
        return ZERO_ROWS[0]
    found = _REGISTER.match(text)
    if not found:
        raise UnknownInstruction(instruction, f"{text} is no register")
    kind, number = found.groups()
    if kind == "R":
        return 255 if number == "Z" else int(number)
    return UNIFORM + (63 if number == "Z" else int(number))


def predicate_row(instruction, text):
    """(row, whether it is negated)."""
    found = _PREDICATE.match(text)
    if not found:
        raise UnknownInstruction(instruction, f"{text} is no predicate")
    negated, uniform, number = found.groups()
    return (UNIFORM_PREDICATE if uniform else 0) + (7 if number == "T" else int(number)), negated == "!"


def is_predicate(text):
    return _PREDICATE.match(text) is not None


def predicate(instruction, text):
    row, negated = predicate_row(instruction, text)
    if negated:
        return lambda warp: ~warp.predicates[row]
    return lambda warp: warp.predicates[row]


def _signs(text):
    """(text without its signs, "-" or "~" or "", whether between bars)."""
    sign = ""
    if text[0] in "-~" and not _NUMBER.match(text) and not _DECIMAL.match(text):
        sign, text = text[0], text[1:]
    bars = text.startswith("|") and text.endswith("|")
    return (text[1:-1] if bars else text), sign, bars


def constant_place(instruction, text):
    """(bank of constant memory, reader of the byte offset in it)."""
    found = _CONSTANT.match(text)
    if not found:
        raise UnknownInstruction(instruction, f"{text} is no place in constant bank 0 or 2")
    return int(found.group(1)), address(instruction, "[" + found.group(2) + "]")


def word(instruction, text):
    """32 bits a lane, as uint32."""
    text, sign, bars = _signs(text)
    if bars:
        raise UnknownInstruction(instruction, f"takes the magnitude of an integer, {text}")
    if _NUMBER.match(text):
        number = np.full(LANES, int(text, 16) & 0xFFFFFFFF, np.uint32)
        plain = lambda warp: number
    elif text.startswith("c["):
        bank, offset = constant_place(instruction, text)
        plain = lambda warp: warp.constant_words(bank, offset(warp))
    else:
        row = register_row(instruction, text)
        plain = lambda warp: warp.registers[row]
    if sign == "-":
        return lambda warp: np.negative(plain(warp))
    if sign == "~":
        return lambda warp: ~plain(warp)
    return plain


def long(instruction, text):
    """64 bits a lane, as uint64: a register and the one after it. The upper half of RZ is zero."""
    text, sign, bars = _signs(text)
    if bars or sign == "~":
        raise UnknownInstruction(instruction, f"takes the magnitude or complement of 64 bits, {text}")
    if _NUMBER.match(text):
        number = np.full(LANES, int(text, 16) & (2**64 - 1), np.uint64)
        plain = lambda warp: number
    elif text.startswith("c["):
        bank, offset = constant_place(instruction, text)
        plain = lambda warp: warp.constant_words(bank, offset(warp)) | warp.constant_words(
            bank, offset(warp) + np.uint64(4)).astype(np.uint64) << HIGH_SHIFT
    else:
        row = register_row(instruction, text)
        upper = row if row in ZERO_ROWS else row + 1
        plain = lambda warp: warp.registers[row] | warp.registers[upper].astype(np.uint64) << HIGH_SHIFT
    if sign == "-":
        return lambda warp: np.negative(plain(warp))
    return plain


def _real(instruction, text, bits, kind, immediate):
    text, sign, bars = _signs(text)
    if _DECIMAL.match(text) or _NUMBER.match(text):
        number = np.full(LANES, immediate(text), kind)
        plain = lambda warp: number
    else:
        source = bits(instruction, text)
        plain = lambda warp: source(warp).view(kind)
    if bars and sign == "-":
        return lambda warp: -np.abs(plain(warp))
    if bars:
        return lambda warp: np.abs(plain(warp))
    if sign == "-":
        return lambda warp: -plain(warp)
    if sign == "~":
        raise UnknownInstruction(instruction, f"takes the complement of a real number, {text}")
    return plain


def single(instruction, text):
    """f32 a lane."""
    def immediate(number):
        if _NUMBER.match(number):
            return struct.unpack("<f", struct.pack("<I", int(number, 16)))[0]
        return float(number.upper().replace("QNAN", "NAN"))
    return _real(instruction, text, word, np.float32, immediate)


def double(instruction, text):
    """f64 a lane. An immediate in hexadecimal digits is the upper half."""
    def immediate(number):
        if _NUMBER.match(number):
            return struct.unpack("<d", struct.pack("<Q", int(number, 16) << 32))[0]
        return float(number.upper().replace("QNAN", "NAN"))
    return _real(instruction, text, long, np.float64, immediate)


def address(instruction, text):
    """The sum within the last brackets, as uint64."""
    found = re.match(r"^(?:desc\[UR\d+\])?\[(.*)\]$", text)
    if not found:
        raise UnknownInstruction(instruction, f"{text} is no address")
    constant, sources = 0, []
    for part in re.findall(r"[+-]?[^+-]+", found.group(1).replace("+-", "-")):
        part = part.lstrip("+").strip()
        if _NUMBER.match(part):
            constant += int(part, 16)
        elif part.endswith(".64"):
            sources.append(long(instruction, part[:-3]))
        elif part.endswith(".U32"):
            sources.append(word(instruction, part[:-4]))
        else:
            sources.append(word(instruction, part))
    offset = np.uint64(constant & (2**64 - 1))

    def read(warp):
        total = np.full(LANES, offset, np.uint64)
        for source in sources:
            total += source(warp)
        return total
    return read


def put_word(instruction, text):
    """Writes a uint32 a lane where `mask` is true; None is everywhere. Of uniform registers all lanes are written."""
    row = register_row(instruction, text)
    if row in ZERO_ROWS:
        return lambda warp, numbers, mask: None
    if row >= UNIFORM:
        def put_uniform(warp, numbers, mask):
            warp.registers[row] = numbers[0 if mask is None else int(np.argmax(mask))]
        return put_uniform

    def put(warp, numbers, mask):
        if mask is None:
            warp.registers[row] = numbers
        else:
            np.copyto(warp.registers[row], numbers, where=mask)
    return put


def put_long(instruction, text):
    """Writes a uint64 a lane to a register and the one after it."""
    row = register_row(instruction, text)
    if row in ZERO_ROWS:
        return lambda warp, numbers, mask: None
    if row % 2:
        raise UnknownInstruction(instruction, f"has 64 bits start at {text}, an odd register")
    kind = "UR" if row >= UNIFORM else "R"
    number = row - UNIFORM if row >= UNIFORM else row
    low, high = put_word(instruction, text), put_word(instruction, f"{kind}{number + 1}")

    def put(warp, numbers, mask):
        numbers = numbers.view(np.uint64)
        low(warp, (numbers & LOW).astype(np.uint32), mask)
        high(warp, (numbers >> HIGH_SHIFT).astype(np.uint32), mask)
    return put


def put_predicate(instruction, text):
    row, negated = predicate_row(instruction, text)
    if negated:
        raise UnknownInstruction(instruction, f"writes {text}")
    if row in TRUE_ROWS:
        return lambda warp, truths, mask: None

    def put(warp, truths, mask):
        if row >= UNIFORM_PREDICATE:
            warp.predicates[row] = truths[0 if mask is None else int(np.argmax(mask))]
        elif mask is None:
            warp.predicates[row] = truths
        else:
            np.copyto(warp.predicates[row], truths, where=mask)
    return put
