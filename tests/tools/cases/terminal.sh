# The live line stays within the terminal's width, and a terminal that clears no lines gets none.
cat >watch.py <<'PYTHON'
import fcntl, os, pty, re, struct, sys, termios

def watch(columns, kind):
    """What a job writes to a terminal of so many columns."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.environ["TERM"] = kind
        fcntl.ioctl(2, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        os.execvp("blco-gen", ["blco-gen", "--shape", "1000x1000x1000", "--nnz", "2000000", "-o", "t.tns.gz"])
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
    live = re.findall(r"\r([^\r\n\x1b]+)\x1b\[K", text.decode())
    print(f"{kind}, {columns} columns:", "a live line" if live else "no live line",
          f"of {max(map(len, live))} characters" if columns == 10 and live else "",
          "with ESC" if b"\x1b" in text else "without ESC")

watch(10, "xterm")
watch(200, "xterm")
watch(10, "dumb")
PYTHON
python3 watch.py | sed 's/ *$//'
list_folder
