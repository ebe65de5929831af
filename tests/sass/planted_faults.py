"""Changes one instruction at a time in a kernel's text: the comparison must see it, or it would see no wrong code."""
import dataclasses
import re

import warp_interpreter
from lane_instructions import WrongExecution
from machine_code import Instruction, UnknownInstruction, decode

FRAMES = (4, 20, 90, 131)  # of the recorded ones: narrow, wide, with exceptions
STEP = 12  # of the instructions that the decoder executes, every so many get a fault
MUST_FIND = 0.7  # of those; most others change nothing, such as corrections of signs where no number is negative
MAX_INSTRUCTIONS = 100_000

_IMMEDIATE = re.compile(r"(?<=[ +])-?0x[0-9a-f]+\b")
_REGISTER = re.compile(r"\bR(\d+)\b")
# Their last number or register steers what waits, jumps or is never read.
_LEFT_ALONE = ("BRA", "BSSY", "BSYNC", "BAR", "WARPSYNC", "EXIT", "NOP", "ENDCOLLECTIVE", "CALL", "RET", "PLOP3",
               "ULDC")


def changed(program, index, text):
    """The program with another instruction at `index`."""
    old = program.instructions[index]
    instructions = list(program.instructions)
    instructions[index] = decode(Instruction(old.program, index, old.address, text, old.lines))
    return dataclasses.replace(program, instructions=instructions, compiled={})


def faults(instruction):
    """Texts with one fault each: the last immediate off by one, the last register another one."""
    if instruction.name in _LEFT_ALONE:
        return
    immediates = list(_IMMEDIATE.finditer(instruction.text))
    if immediates and not instruction.name.endswith("LOP3"):
        last = immediates[-1]
        yield instruction.text[:last.start()] + hex(int(last.group(), 16) ^ 1) + instruction.text[last.end():]
    registers = list(_REGISTER.finditer(instruction.text))
    if registers:
        last = registers[-1]
        yield f"{instruction.text[:last.start()]}R{int(last.group(1)) ^ 2}{instruction.text[last.end():]}"


def described(instruction, text):
    return f"{instruction.place()}: `{instruction.text}` as `{text}`"


def is_found(run):
    """Whether a run of wrong code is noticed."""
    try:
        return run() is not None
    except (WrongExecution, UnknownInstruction, IndexError):
        return True


def plant_in_decoder(program, frames):
    """(number of faults, those that were not found) in what decode_one_frame executes."""
    wrong, executed = frames.run_some(program, FRAMES)
    if wrong:
        return 0, [wrong]
    planted, missed = 0, []
    for index in executed.instructions.nonzero()[0].tolist()[::STEP]:
        for text in faults(program.instructions[index]):
            planted += 1
            mutant = changed(program, index, text)
            if not is_found(lambda: frames.run_some(mutant, FRAMES)[0]):
                missed.append(described(program.instructions[index], text))
    return planted, missed


def plant_in_mttkrp(program, launch, names):
    """The same for the first executed instruction that begins so, without a guard; each of these must be found."""
    executed = launch.run(program)[2].instructions
    planted, missed = 0, []
    for name in names:
        index = next(number for number in executed.nonzero()[0].tolist()
                     if program.instructions[number].text.startswith(name) and not program.instructions[number].guard)
        text = next(faults(program.instructions[index]))
        planted += 1
        if not is_found(lambda: launch.run(changed(program, index, text))[0]):
            missed.append(described(program.instructions[index], text))
    return planted, missed


def check(decoder, frames, program, launch):
    """What is wrong, as a list; prints how many faults were found."""
    limit, warp_interpreter.MAX_INSTRUCTIONS = warp_interpreter.MAX_INSTRUCTIONS, MAX_INSTRUCTIONS
    try:
        planted, missed = plant_in_decoder(decoder, frames)
        more, must = plant_in_mttkrp(program, launch, ("LDS", "LDG", "SHFL.UP", "MATCH", "POPC", "DMUL", "DFMA",
                                                            "REDG"))
    finally:
        warp_interpreter.MAX_INSTRUCTIONS = limit
    print(f"planted faults: {planted - len(missed)} of {planted} found in the decoder, "
          f"{more - len(must)} of {more} in MTTKRP")
    problems = [f"not found: {fault}" for fault in must]
    if len(missed) > planted * (1 - MUST_FIND) or planted == 0:
        problems += [f"not found: {fault}" for fault in missed]
    return problems
