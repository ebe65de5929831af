"""Loads, stores and atomic additions, and what they cost: wavefronts of shared memory, sectors of global memory."""
import numpy as np

import operand_readers as read
from lane_instructions import NUMBERS, WrongExecution
from machine_code import UnknownInstruction

U32, U64 = np.uint32, np.uint64
SECTOR_SHIFT = U64(5)  # 32 bytes
BANKS = 32
SHARED_BEGIN = 0x400  # the first KiB of a block's shared memory is the system's
LOCAL_BYTES = 1024  # of a thread: what is spilled


class Memory:
    """Bytes of several address ranges; an access outside of all of them is an error."""

    def __init__(self, ranges):
        """`ranges`: (address, bytes-like) in rising order. Addresses are multiples of 4."""
        self.first = ranges[0][0]
        end = ranges[-1][0] + len(ranges[-1][1])
        self.bytes = np.zeros((end - self.first + 7) // 8 * 8, np.uint8)
        self.valid = np.zeros(len(self.bytes), bool)
        for address, content in ranges:
            at = address - self.first
            self.bytes[at:at + len(content)] = np.frombuffer(content, np.uint8)
            self.valid[at:at + len(content)] = True
        self.words = self.bytes.view(U32)

    def places(self, instruction, addresses, size):
        """Offsets of accesses of `size` bytes."""
        at = addresses - U64(self.first)  # wraps around to something huge below the first
        inside = at <= len(self.bytes) - size
        if not inside.all() or not (self.valid[at].all() and self.valid[at + U64(size - 1)].all()):
            wrong = next(int(address) for address in addresses if not self._holds(int(address), size))
            raise WrongExecution(
                f"{instruction.place()}: `{instruction.text}` accesses {wrong:#x}, outside of all memory")
        if (addresses & U64(size - 1)).any():
            raise WrongExecution(f"{instruction.place()}: `{instruction.text}` is not aligned")
        return at

    def _holds(self, address, size):
        at = address - self.first
        return 0 <= at <= len(self.bytes) - size and self.valid[at] and self.valid[at + size - 1]

    def read(self, address, count, kind):
        at = address - self.first
        return self.bytes[at:at + count * np.dtype(kind).itemsize].view(kind)


def shared_memory(size):
    return Memory([(SHARED_BEGIN, bytes(size))])


def wavefronts(addresses, size, lanes):
    """Passes over 32 banks of 4 bytes; of 8 bytes half a warp a pass at best, of 16 a quarter."""
    parts = lanes // (BANKS * 4 // max(size, 4))
    total = 0
    for part in np.unique(parts):
        words = addresses[parts == part, None] // U64(4) + np.arange(max(size // 4, 1), dtype=U64)
        total += int(np.bincount((np.unique(words) % U64(BANKS)).astype(np.int64)).max())
    return total


def sectors(addresses):
    return len(np.unique(addresses >> SECTOR_SHIFT))


def _size(instruction):
    for modifier, size in (("U8", 1), ("U16", 2), ("64", 8), ("128", 16)):
        if modifier in instruction.modifiers:
            return size
    return 4


def _address(instruction, text):
    """E: a register and the one after it, even where nvdisasm does not say .64."""
    if "E" in instruction.modifiers and ".64" not in text:
        base, bracket, inner = text.partition("[R")
        number = inner.partition("]")[0].partition("+")[0]
        text = f"{base}{bracket}{number}.64{inner[len(number):]}"
    source = read.address(instruction, text)
    if "E" in instruction.modifiers:
        return source
    return lambda warp: source(warp) & U64(0xFFFFFFFF)


SPACES = {"S": ("shared", wavefronts), "G": ("device", lambda addresses, size, lanes: sectors(addresses)),
          "L": ("local", lambda addresses, size, lanes: 1)}
_HINTS = ("E", "CONSTANT", "STRONG", "GPU", "SM", "SYS", "EF", "EL", "LU", "EU", "NA", "LTC64B", "LTC128B", "LTC256B")


def _lanes(mask):
    return slice(None) if mask is None else mask


def _space(instruction):
    return SPACES[instruction.name[2]]


def load(instruction):
    instruction.only_modifiers("U8", "U16", "64", "128", *_HINTS)
    space, cost = _space(instruction)
    size = _size(instruction)
    address = _address(instruction, instruction.operands[1])
    row = read.register_row(instruction, instruction.operands[0])
    count = max(size // 4, 1)
    if row % count:
        raise UnknownInstruction(instruction, "loads to an odd register")

    def execute(warp, mask):
        addresses = address(warp)[_lanes(mask)]
        memory = warp.memory(space)
        at = memory.places(instruction, warp.own(space, addresses, mask), size)
        if row != read.ZERO_ROWS[0]:
            for word in range(count):
                loaded = memory.bytes[at] if size == 1 else (
                    memory.bytes[at] | memory.bytes[at + U64(1)].astype(U32) << U32(8) if size == 2 else
                    memory.words[(at >> U64(2)) + U64(word)])
                warp.registers[row + word][_lanes(mask)] = loaded
        warp.count(instruction, space, cost(addresses, size, NUMBERS[_lanes(mask)]))
    return execute


def store(instruction):
    instruction.only_modifiers("U8", "64", "128", *_HINTS)
    space, cost = _space(instruction)
    size = _size(instruction)
    address = _address(instruction, instruction.operands[0])
    row = read.register_row(instruction, instruction.operands[1])
    rows = [row if row in read.ZERO_ROWS else row + word for word in range(max(size // 4, 1))]

    def execute(warp, mask):
        addresses = address(warp)[_lanes(mask)]
        memory = warp.memory(space)
        at = memory.places(instruction, warp.own(space, addresses, mask), size)
        if size == 1:
            memory.bytes[at] = warp.registers[row][_lanes(mask)].astype(np.uint8)
        for word, source in enumerate(rows if size > 1 else []):
            memory.words[(at >> U64(2)) + U64(word)] = warp.registers[source][_lanes(mask)]
        warp.count(instruction, space, cost(addresses, size, NUMBERS[_lanes(mask)]))
    return execute


def add_to_global(instruction):
    """RED: additions whose old numbers nobody asks for; equal addresses one after the other, by lane."""
    instruction.only_modifiers("ADD", "F64", "F32", "FTZ", "RN", *_HINTS)
    f64 = "F64" in instruction.modifiers
    if not f64 and "F32" not in instruction.modifiers:
        raise UnknownInstruction(instruction, "does not know additions of this type")
    address = _address(instruction, instruction.operands[0])
    source = (read.double if f64 else read.single)(instruction, instruction.operands[1])
    size, kind = (8, np.float64) if f64 else (4, np.float32)

    def execute(warp, mask):
        addresses = address(warp)[_lanes(mask)]
        memory = warp.memory("device")
        at = memory.places(instruction, addresses, size)
        np.add.at(memory.bytes.view(kind), (at // U64(size)).astype(np.int64), source(warp)[_lanes(mask)])
        warp.count(instruction, "additions", sectors(addresses))
    return execute


def compare_and_swap(instruction):
    """ATOMG gives the old number; ATOMS.CAST whether it swapped. Lanes go one after the other."""
    shared = instruction.name == "ATOMS"
    instruction.only_modifiers("CAST", "SPIN", "CAS", "64", *_HINTS)
    if ("CAST" if shared else "CAS") not in instruction.modifiers:
        raise UnknownInstruction(instruction, "does not know this atomic operation")
    operands = instruction.operands if shared else instruction.operands[1:]
    if not shared and instruction.operands[0] != "PT":
        raise UnknownInstruction(instruction, "does not know its predicate")
    size = _size(instruction)
    source, put = (read.long, read.put_long) if size == 8 else (read.word, read.put_word)
    put = put(instruction, operands[0])
    address = _address(instruction, operands[1])
    expected, wanted = (source(instruction, text) for text in operands[2:4])
    kind = U64 if size == 8 else U32

    def execute(warp, mask):
        lanes = np.arange(read.LANES) if mask is None else np.flatnonzero(mask)
        addresses = address(warp)[lanes]
        memory = warp.memory("shared" if shared else "device")
        places = memory.places(instruction, addresses, size) // U64(size)
        numbers = memory.bytes.view(kind)
        compare, replace = expected(warp), wanted(warp)
        result = np.zeros(read.LANES, kind)
        for lane, place in zip(lanes, places):
            old = numbers[place]
            if old == compare[lane]:
                numbers[place] = replace[lane]
            result[lane] = (old == compare[lane]) if shared else old
        put(warp, result, mask)
        warp.count(instruction, "shared" if shared else "additions",
                   wavefronts(addresses, size, lanes) if shared else sectors(addresses))
    return execute


DECODERS = {"LDS": load, "LDG": load, "LDL": load, "STS": store, "STG": store, "STL": store, "RED": add_to_global,
            "REDG": add_to_global, "ATOMS": compare_and_swap, "ATOMG": compare_and_swap}
