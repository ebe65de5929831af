"""The text that `nvdisasm -c -gi` prints of a cubin, as programs of instructions."""
import dataclasses
import pathlib
import re
import struct
import subprocess


class UnknownInstruction(Exception):
    """An instruction, or a form of one, that the interpreter does not know."""

    def __init__(self, instruction, what):
        super().__init__(f"{instruction.place()}: `{instruction.text}`: {what}")


@dataclasses.dataclass(eq=False)
class Instruction:
    """One instruction. `lines` are the source lines it stems from, [(file, line)], innermost first."""

    program: str
    index: int
    address: int
    text: str
    lines: tuple
    guard: str | None = None  # "P0", "!UP1"; executed where true
    name: str = ""  # ISETP
    modifiers: tuple = ()  # ("NE", "U32", "AND")
    operands: tuple = ()

    def place(self):
        source = f", {self.lines[0][0].rsplit('/', 1)[-1]}:{self.lines[0][1]}" if self.lines else ""
        return f"{self.program} at {self.address:#06x}{source}"

    def only_modifiers(self, *known):
        """Fails on a modifier that is not among `known`."""
        for modifier in self.modifiers:
            if modifier not in known:
                raise UnknownInstruction(self, f"does not know .{modifier}")


@dataclasses.dataclass(eq=False)
class Program:
    """A kernel with the functions that it calls."""

    name: str
    instructions: list
    labels: dict  # name -> index of an instruction
    by_address: dict  # address -> index
    tables: bytes = b""  # constant bank 2: where branches through a table go
    compiled: dict = dataclasses.field(default_factory=dict)  # index -> what the interpreter made of it


_SECTION = re.compile(r"^\.text\.(\S+):")
_LINE = re.compile(r'^\s*//## File "([^"]+)", line (\d+)')
_LABEL = re.compile(r"^([.$\w]+):")
_INSTRUCTION = re.compile(r"^\s+/\*([0-9a-f]+)\*/\s+(.*?)\s*;")
_COMMENT = re.compile(r"\s*\(\*.*?\*\)")  # the targets of a branch through a table
_GUARD = re.compile(r"^@(!?U?P[0-9T]+)\s+(.*)$")


def split_operands(text):
    """Splits at the commas that are in no bracket."""
    operands, depth, begin = [], 0, 0
    for at, character in enumerate(text):
        depth += (character in "[(`") - (character in "])")
        # A backquote opens what ")" closes together with its "(".
        depth -= character == "(" and text[at - 1] == "`"
        if character == "," and depth == 0:
            operands.append(text[begin:at].strip())
            begin = at + 1
    last = text[begin:].strip()
    return tuple(operands + [last] if last else operands)


def decode(instruction):
    """Fills guard, name, modifiers and operands from the text."""
    text = instruction.text
    guarded = _GUARD.match(text)
    if guarded:
        instruction.guard, text = guarded.groups()
    mnemonic, _, operands = text.partition(" ")
    name, *modifiers = mnemonic.split(".")
    instruction.name, instruction.modifiers = name, tuple(modifiers)
    instruction.operands = split_operands(operands.replace(".reuse", ""))
    return instruction


def parse(listing, wanted=None):
    """{mangled name: Program} of a listing; of the names in `wanted` only, if given."""
    programs, program = {}, None
    pending, lines = [], ()
    for line in listing.splitlines():
        section = _SECTION.match(line)
        if section:
            name = section.group(1)
            program = Program(name, [], {}, {}) if wanted is None or name in wanted else None
            if program:
                programs[name] = program
            pending, lines = [], ()
            continue
        if program is None:
            continue
        if line.lstrip().startswith(".section"):
            program = None
            continue
        source = _LINE.match(line)
        if source:
            pending.append((source.group(1), int(source.group(2))))
            continue
        found = _INSTRUCTION.match(line)
        if found:
            if pending:
                lines, pending = tuple(pending), []
            address, text = int(found.group(1), 16), _COMMENT.sub("", found.group(2))
            index = len(program.instructions)
            program.by_address[address] = index
            program.instructions.append(decode(Instruction(program.name, index, address, text, lines)))
            continue
        label = _LABEL.match(line)
        if label:
            program.labels[label.group(1)] = len(program.instructions)
    return programs


def sections(elf):
    """{name: content} of a file in the format ELF64, little-endian."""
    begin, = struct.unpack_from("<Q", elf, 0x28)
    size, count, names = struct.unpack_from("<3H", elf, 0x3A)
    # Offset of the name; type, flags, address; offset and size of the content.
    headers = [struct.unpack_from("<2I4Q", elf, begin + size * number) for number in range(count)]
    first = headers[names][4]
    return {elf[first + header[0]:elf.index(b"\0", first + header[0])].decode(): elf[header[4]:header[4] + header[5]]
            for header in headers}


def disassemble(nvdisasm, cubin, wanted=None):
    """The programs of a cubin file; of the names in `wanted` only, if given."""
    result = subprocess.run([nvdisasm, "-c", "-gi", cubin], capture_output=True, text=True, check=True)
    programs = parse(result.stdout, wanted)
    if not programs:
        raise ValueError(f"{nvdisasm} prints no program of {pathlib.Path(cubin).name}")
    content = sections(pathlib.Path(cubin).read_bytes())
    for name, program in programs.items():
        program.tables = content.get(".nv.constant2." + name, b"")
    return programs
