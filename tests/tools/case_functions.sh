# What the scripts in cases/ share.

# Shows a command, runs it, and shows its exit code unless that is 0.
run() {
  echo "\$ $*"
  local code=0
  "$@" || code=$?
  [ "$code" -eq 0 ] || echo "exit $code"
  return "$code"
}

# Runs a command in the place of this shell; a script's background jobs are made to ignore SIGINT, this one is not.
interruptible() {
  exec python3 -c 'import os, signal, sys
signal.signal(signal.SIGINT, signal.SIG_DFL)
os.execvp(sys.argv[1], sys.argv[1:])' "$@"
}

# Everything in the case's folder, hidden files included: nothing may be left behind.
list_folder() {
  echo "files: $(find . -type f -printf '%P\n' | sort | tr '\n' ' ')"
}

# A tensor of 3x4x2 with six nonzeros.
write_small_tensor() {
  printf '%s\n' '1 1 1 1' '2 1 1 2' '3 4 2 3' '1 2 2 -1.5' '2 3 1 0.25' '3 3 2 4' >"$1"
}

# Sizes and counts of bits follow the libraries' versions; the cases that print them are about other things.
hide_sizes() {
  sed -E 's/ host memory \([^)]*\)/ host memory (TERMS)/; s/[0-9.]+ ([KMG]i)?B\b/SIZE/g; s/[0-9]+\.[0-9]{2} (bits|cached)/BITS \1/g'
}

# Four digits of a fit are the same on every CPU.
shorten_fits() {
  sed -E 's/(fit +[0-9]\.[0-9]{4})[0-9]*/\1/g; s/(change )[^ ]+/\1.../'
}

# Damage in place: one bit of the byte at an offset, or a range of zeros.
flip_bit() {
  local byte
  byte=$(od -An -tu1 -j "$2" -N 1 "$1")
  printf "\\x$(printf %02x $((byte ^ 64)))" | dd of="$1" bs=1 seek="$2" conv=notrunc status=none
}
zero_bytes() {
  head -c "$3" /dev/zero | dd of="$1" bs=1 seek="$2" conv=notrunc status=none
}

# Runs Python on an HDF5 file `f`, made where it is absent. As every tool of HDF5 does, this drops blco's trailer.
edit_hdf5() {
  "$PYTHON" -c "import h5py, numpy as np
with h5py.File('$1', 'a') as f:
    $2"
}
