"""Runs a block of warps on a program: control flow with its reconvergence, and counts of what was executed.

The lanes of a warp are in groups that have diverged; a group runs until it branches apart, waits for others or ends.
Which group runs first is not defined on hardware either.
"""
import re

import numpy as np

import float_instructions
import integer_instructions
import lane_instructions
import memory_instructions
import operand_readers as read
from lane_instructions import WrongExecution, bits_of
from machine_code import UnknownInstruction

FULL = 2**32 - 1
MAX_INSTRUCTIONS = 5_000_000  # of a warp; more is taken for a loop without end
STACK_POINTER = 0x28  # constant memory: where a thread's stack begins
PARAMETERS = 0x210  # and the kernel's parameters, on sm_90
INSTRUCTION_BYTES = 16

DECODERS = {**integer_instructions.DECODERS, **float_instructions.DECODERS, **lane_instructions.DECODERS,
            **memory_instructions.DECODERS}
NOTHING = ("NOP", "YIELD", "DEPBAR", "NANOSLEEP", "MEMBAR", "ERRBAR", "CCTL")
COUNTS = ("instructions", "shared", "device", "local", "additions")


class Counts:
    """Per instruction of a program: how often it was issued, and its wavefronts and sectors."""

    def __init__(self, program):
        for name in COUNTS:
            setattr(self, name, np.zeros(len(program.instructions), np.int64))

    def add(self, other):
        for name in COUNTS:
            getattr(self, name)[:] += getattr(other, name)


def target(warp, instruction):
    """The index that the label in the last operand stands for."""
    found = re.match(r"^`\((.*)\)$", instruction.operands[-1])
    if not found or found.group(1) not in warp.program.labels:
        raise UnknownInstruction(instruction, "jumps to a label that is not there")
    return warp.program.labels[found.group(1)]


class Warp:
    """32 threads of a block."""

    def __init__(self, program, block, number):
        self.program, self.block = program, block
        self.counts, self.block_number = block.counts, block.number
        self.registers = np.zeros((read.ROWS, read.LANES), np.uint32)
        self.predicates = np.zeros((read.PREDICATE_ROWS, read.LANES), bool)
        self.predicates[list(read.TRUE_ROWS)] = True
        self.thread_numbers = number * read.LANES + lane_instructions.NUMBERS
        self.spaces = {"shared": block.shared, "device": block.device, "local": memory_instructions.Memory(
            [(0, bytes(read.LANES * memory_instructions.LOCAL_BYTES))])}
        self.barriers = {}  # name -> lanes of each lane's barrier
        self.ready = [(0, FULL)]  # groups that can go on: index, lanes
        self.waiting = {}  # (index, barrier or None) -> lanes
        self.collecting = {}  # index -> groups that have come to a collective
        self.collective = []  # the groups of the collective that runs
        self.exited = 0
        self.at_barrier = False
        self.masks = {}

    def memory(self, space):
        return self.spaces[space]

    def own(self, space, addresses, mask):
        """Local memory: every thread has its own."""
        if space != "local":
            return addresses
        lanes = lane_instructions.NUMBERS.astype(np.uint64)
        return addresses + (lanes if mask is None else lanes[mask]) * np.uint64(memory_instructions.LOCAL_BYTES)

    def constant_words(self, bank, offsets):
        """The 32 bits of a bank of constant memory that a byte offset a lane lies in; zero past its end."""
        words = self.block.constants[bank]
        return words[np.minimum((offsets & np.uint64(0xFFFFFFFF)) >> np.uint64(2), np.uint64(len(words) - 1))]

    def count(self, instruction, space, amount):
        getattr(self.counts, space)[instruction.index] += amount

    def lanes_of(self, mask):
        """The mask as an array, None where all lanes are in it."""
        if mask == FULL:
            return None
        if mask not in self.masks:
            self.masks[mask] = (np.uint64(mask) & lane_instructions.BIT) != 0
        return self.masks[mask]

    def guarded(self, instruction, mask):
        """The lanes of a group where the instruction's guard is true, as a number."""
        if instruction.guard is None:
            return mask
        return bits_of(read.predicate(instruction, instruction.guard)(self)) & mask

    def release(self):
        """Lets groups go on for which no lane is missing any more."""
        for (index, barrier), lanes in list(self.waiting.items()):
            missing = 0
            for lane in range(read.LANES):
                if lanes >> lane & 1:
                    missing |= (self.barriers[barrier][lane] if barrier else FULL) & ~self.exited & ~lanes
            if not missing:
                del self.waiting[index, barrier]
                self.ready.append((index, lanes))

    def wait(self, index, barrier, lanes):
        self.waiting[index, barrier] = self.waiting.get((index, barrier), 0) | lanes
        self.release()

    def run(self):
        """Runs to the end, or to where the warp waits for the other warps of its block."""
        self.at_barrier = False
        issued, compiled = self.counts.instructions, self.program.compiled
        budget = MAX_INSTRUCTIONS
        while self.ready and not self.at_barrier:
            index, mask = self.ready.pop()
            while index is not None:
                budget -= 1
                if budget < 0:
                    raise WrongExecution(f"{self.program.instructions[index].place()}: does not end")
                issued[index] += 1
                control, execute, guard = compiled.get(index) or self.compile(index)
                if control is not None:
                    index, mask = control(self, self.program.instructions[index], mask)
                    continue
                if guard is None:
                    execute(self, self.lanes_of(mask))
                else:
                    lanes = guard(self) if mask == FULL else guard(self) & self.lanes_of(mask)
                    if lanes.all():
                        execute(self, None)
                    elif lanes.any():
                        execute(self, lanes.copy())
                index += 1
        if not self.at_barrier and (self.waiting or self.collecting):
            index = next(iter([*(key[0] for key in self.waiting), *self.collecting]))
            raise WrongExecution(f"{self.program.instructions[index].place()}: lanes wait for others that never come")

    def compile(self, index):
        instruction = self.program.instructions[index]
        guard = None if instruction.guard is None else read.predicate(instruction, instruction.guard)
        if instruction.name in CONTROL:
            made = (CONTROL[instruction.name], None, None)
        elif instruction.name in DECODERS:
            made = (None, DECODERS[instruction.name](instruction), guard)
        else:
            raise UnknownInstruction(instruction, "does not know this instruction")
        self.program.compiled[index] = made
        return made


def bra(warp, instruction, mask):
    instruction.only_modifiers("DIV")
    taken = warp.guarded(instruction, mask)
    condition = instruction.operands[:-1]
    if "DIV" in instruction.modifiers:
        whole = int(read.word(instruction, condition[0])(warp)[0])
        taken = taken if mask != whole & ~warp.exited else 0
    elif condition:
        taken &= bits_of(read.predicate(instruction, condition[0])(warp))
    if len(condition) > 1:
        raise UnknownInstruction(instruction, "does not know so many operands")
    if taken == 0:
        return instruction.index + 1, mask
    if taken != mask:
        warp.ready.append((instruction.index + 1, mask & ~taken))
    return target(warp, instruction), taken


def bssy(warp, instruction, mask):
    """Names the lanes that meet again at the next BSYNC of this barrier."""
    instruction.only_modifiers("RECONVERGENT", "RELIABLE")
    lanes = warp.barriers.setdefault(instruction.operands[0], [0] * read.LANES)
    for lane in range(read.LANES):
        if mask >> lane & 1:
            lanes[lane] = mask
    return instruction.index + 1, mask


def bsync(warp, instruction, mask):
    instruction.only_modifiers("RECONVERGENT", "RELIABLE")
    barrier = instruction.operands[0]
    if barrier not in warp.barriers:
        raise WrongExecution(f"{instruction.place()}: nobody has set up {barrier}")
    warp.wait(instruction.index + 1, barrier, mask)
    return None, 0


def break_(warp, instruction, mask):
    """Lanes that will not come to a barrier."""
    instruction.only_modifiers()
    leaving = warp.guarded(instruction, mask)
    if len(instruction.operands) > 1:
        leaving &= bits_of(read.predicate(instruction, instruction.operands[0])(warp))
    lanes = warp.barriers[instruction.operands[-1]]
    meant = 0
    for lane in range(read.LANES):
        if leaving >> lane & 1:
            meant |= lanes[lane]
    for lane in range(read.LANES):
        if meant >> lane & 1:
            lanes[lane] &= ~leaving
    warp.release()
    return instruction.index + 1, mask


def exit_(warp, instruction, mask):
    instruction.only_modifiers()
    leaving = warp.guarded(instruction, mask)
    warp.exited |= leaving
    warp.release()
    return (instruction.index + 1, mask & ~leaving) if mask & ~leaving else (None, 0)


def call(warp, instruction, mask):
    instruction.only_modifiers("REL", "NOINC")
    if instruction.guard is not None:
        raise UnknownInstruction(instruction, "does not know it under a condition")
    return target(warp, instruction), mask


def jump(warp, instruction, mask, addresses):
    """Goes on at addresses that may differ between lanes."""
    groups = {}
    for lane in range(read.LANES):
        if mask >> lane & 1:
            address = int(addresses[lane])
            if address not in warp.program.by_address:
                raise WrongExecution(f"{instruction.place()}: jumps to {address:#x}, where no instruction begins")
            index = warp.program.by_address[address]
            groups[index] = groups.get(index, 0) | 1 << lane
    warp.ready += groups.items()
    return None, 0


def ret(warp, instruction, mask):
    instruction.only_modifiers("REL", "NODEC")
    return jump(warp, instruction, mask,
                warp.registers[read.register_row(instruction, instruction.operands[0].split()[0])])


def brx(warp, instruction, mask):
    """Branches by a register, which the text relates to the next instruction: `BRX R8 -0x19670` at 0x19660."""
    instruction.only_modifiers()
    found = re.match(r"^(U?R\d+) (-?0x[0-9a-f]+)$", instruction.operands[0])
    if instruction.guard is not None or len(instruction.operands) != 1 or not found:
        raise UnknownInstruction(instruction, "does not know this branch through a table")
    base = instruction.address + INSTRUCTION_BYTES + int(found.group(2), 16)
    offsets = warp.registers[read.register_row(instruction, found.group(1))].astype(np.int64)
    return jump(warp, instruction, mask, offsets + base & 0xFFFFFFFF)


def warpsync(warp, instruction, mask):
    """Waits for the other lanes; a collective then runs with all of them, after which their groups are as before."""
    instruction.only_modifiers("ALL", "COLLECTIVE")
    lane = (mask & -mask).bit_length() - 1
    named = FULL
    if "ALL" not in instruction.modifiers:
        named = int(read.word(instruction, instruction.operands[0])(warp)[lane])
    if mask & ~named:
        raise WrongExecution(f"{instruction.place()}: a lane waits that is not among those waited for")
    if "COLLECTIVE" in instruction.modifiers:
        groups = warp.collecting.setdefault(instruction.index, [])
        groups.append((target(warp, instruction), mask))
        present = sum(lanes for _, lanes in groups)
        if named & ~warp.exited & ~present:
            return None, 0
        warp.collective = warp.collecting.pop(instruction.index)
        return instruction.index + 1, present
    if named != FULL:
        raise UnknownInstruction(instruction, "does not know it of some lanes only")
    warp.wait(instruction.index + 1, None, mask)
    return None, 0


def endcollective(warp, instruction, mask):
    instruction.only_modifiers()
    warp.ready += warp.collective
    warp.collective = []
    return None, 0


def bar(warp, instruction, mask):
    """The barrier of a block: here the warp stops, and goes on when the others are there."""
    instruction.only_modifiers("SYNC", "DEFER_BLOCKING")
    if instruction.operands != ("0x0",):
        raise UnknownInstruction(instruction, "does not know this barrier")
    if mask != FULL & ~warp.exited:
        warp.wait(instruction.index, None, mask)
        return None, 0
    warp.ready.append((instruction.index + 1, mask))
    warp.at_barrier = True
    return None, 0


def nothing(warp, instruction, mask):
    return instruction.index + 1, mask


CONTROL = {"BRA": bra, "BSSY": bssy, "BSYNC": bsync, "BREAK": break_, "EXIT": exit_, "CALL": call, "RET": ret,
           "BRX": brx, "BRXU": brx, "WARPSYNC": warpsync, "ENDCOLLECTIVE": endcollective, "BAR": bar,
           **dict.fromkeys(NOTHING, nothing)}


class Block:
    """What the warps of a block share."""

    def __init__(self, program, device, constants, number, shared_bytes, counts):
        self.program, self.device, self.number = program, device, number
        self.constants = {bank: np.frombuffer(bytes(content) + bytes(-len(content) % 4 + 4), np.uint32)
                          for bank, content in ((0, constants), (2, program.tables))}
        self.shared = memory_instructions.shared_memory(shared_bytes)
        self.counts = counts

    def run(self, threads):
        warps = [Warp(self.program, self, number) for number in range(threads // read.LANES)]
        while warps:
            for warp in warps:
                warp.run()
            warps = [warp for warp in warps if warp.at_barrier]


def constant_memory(blocks, threads, parameters):
    """Constant bank 0 of a launch."""
    constants = bytearray(PARAMETERS + len(parameters))
    shape = (threads, 1, 1, blocks, 1, 1)
    for at, number in enumerate(shape):
        constants[4 * at:4 * at + 4] = number.to_bytes(4, "little")
    constants[STACK_POINTER:STACK_POINTER + 4] = (memory_instructions.LOCAL_BYTES // 2).to_bytes(4, "little")
    constants[PARAMETERS:] = parameters
    return constants


def launch(program, device, blocks, threads, shared_bytes, parameters):
    """Runs all blocks of a launch, one after the other, on `device` memory; returns the Counts."""
    if threads % read.LANES:
        raise ValueError(f"{threads} threads are no whole number of warps")
    counts = Counts(program)
    constants = constant_memory(blocks, threads, parameters)
    with np.errstate(all="ignore"):
        for number in range(blocks):
            Block(program, device, constants, number, shared_bytes, counts).run(threads)
    return counts
