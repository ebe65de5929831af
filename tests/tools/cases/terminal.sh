# The live line and the help stay within the terminal's width, and a terminal that clears no lines gets no live line.
cat >watch.py <<'PYTHON'
import fcntl, os, pty, re, struct, sys, termios

def written_by(command, columns, kind):
    """What a program writes to a terminal of so many columns."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.environ["TERM"] = kind
        fcntl.ioctl(2, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        os.execvp(command[0], command)
    text = b""
    while True:
        try:
            piece = os.read(terminal, 65536)
        except OSError:
            break
        if not piece:
            break
        text += piece
    os.waitpid(pid, 0)
    return text

def watch(columns, kind):
    job = ["blco-gen", "--shape", "1000x1000x1000", "--nnz", "2000000", "-o", "t.tns.gz"]
    text = written_by(job, columns, kind)
    live = re.findall(r"\r([^\r\n\x1b]+)\x1b\[K", text.decode())
    print(f"{kind}, {columns} columns:", "a live line" if live else "no live line",
          f"of {max(map(len, live))} characters" if columns == 10 and live else "",
          "with ESC" if b"\x1b" in text else "without ESC")

watch(10, "xterm")
watch(200, "xterm")
watch(10, "dumb")
for columns in 72, 200:
    lines = written_by(["blco-cpd", "--help"], columns, "xterm").decode().split("Examples:")[0].splitlines()
    print(f"help, {columns} columns: lines of up to", max(map(len, lines)), "characters")
PYTHON
python3 watch.py | sed 's/ *$//'
list_folder
