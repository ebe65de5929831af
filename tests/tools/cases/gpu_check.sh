# gpu_check.sh with programs that only pretend: every section of its results; a test that fails, one that hangs and steps
# that crash; and the limits of all steps. Time on a GPU is too rare to be lost to a mistake in a script.
check=$(dirname "$1")/../../../tools/gpu_check.sh
mkdir -p pack/cuda12 tools empty tmp
echo abc1234 >pack/commit
echo 2.36 >pack/glibc
export PRETEND=$PWD TMPDIR=$PWD/tmp REAL_TIMEOUT REAL_TESTS
REAL_TIMEOUT=$(command -v timeout)
REAL_TESTS=$(command -v test_tools)

# A program of the pack, or a tool of CUDA, from standard input.
fake() {
  { echo '#!/usr/bin/env bash'; cat; } >"$1"
  chmod +x "$1"
}
# Its tests are few, but what a filter means it asks a real program: one that lets no test of that through runs none.
fake pack/test_gpu <<'END'
[ -n "${NEWER-}" ] || [ ! -e "$PRETEND/old_driver" ] || { echo 'SKIPPED: no GPU: the driver is too old'; exit 77; }
echo 'on Some GPU, 99 multiprocessors'
[[ $* != *list_tests* ]] || { printf '%s\n' Good. '  One' '  Two' 'Every/Bad.' '  Fails' '  Passes' Slow. '  Hangs'; exit; }
for filter in "$@"; do
  [[ $filter == --gtest_filter=-* ]] || continue
  "$REAL_TESTS" --gtest_list_tests "$filter" | grep -q '^[A-Z].*[.]$' || exit 0
done
case "$*" in
  *filter=Good.*) printf '[ RUN      ] Good.%s\n[       OK ] Good.%s (1 ms)\n' One One Two Two; exit ;;
esac
[ -e "$PRETEND/all_is_well" ] && exit
case "$*" in
  *Every/Bad.*)
    printf '[ RUN      ] %s\ntest.cpp:7: Failure\n1 is not 2\n[  FAILED  ] %s (1 ms)\n' Every/Bad.Fails Every/Bad.Fails
    printf '[ RUN      ] %s\n[       OK ] %s (1 ms)\n' Every/Bad.Passes Every/Bad.Passes
    exit 1
    ;;
  *) echo '[ RUN      ] Slow.Hangs'; while :; do sleep 1; done ;;
esac
END
fake pack/blco-gen <<'END'
echo "blco-gen $*" | sed "s|$TMPDIR[^ ]*/||g" >>"$PRETEND/calls"
if [[ $* == *words* ]] && [ -e "$PRETEND/killed_midway" ]; then
  read -r _ _ _ script _ </proc/$PPID/stat
  kill -KILL "$script" $PPID
fi
while [ "$1" != -o ]; do shift; done
echo some bytes >"$2"
echo "$2 (38,500,000 nonzeros, 1.0 MiB)"
END
fake pack/blco-cpd <<'END'
echo "blco-cpd $*" | sed "s|$TMPDIR[^ ]*/||g" >>"$PRETEND/calls"
echo 'sweep   1  fit 0.5  change +5.0e-01  0.25 s'
END
fake pack/blco-bench <<'END'
echo "blco-bench $*" | sed "s|$TMPDIR[^ ]*/||g" >>"$PRETEND/calls"
[[ $* != *roofline* ]] || { echo 'level GB/s'; exit; }
[[ $* != *format* ]] || { echo 'format  to ours'; exit; }
cat <<TABLE
device  Some GPU, 99 multiprocessors, 40.0 MiB of L2 cache, 2 threads; memory copies 9.0 GB/s

chunks    resolution   mode         ms    M nnz/s
memory    auto            0      1.000     3100.0
memory    auto         mean                3000.0
TABLE
[[ $* != *all* ]] || echo 'memory    hierarchical mean                1000.0'
[[ $* != *share* ]] || echo 'streamed  auto         mean                2700.0'
END
# Of an older driver.
fake tools/nvidia-smi <<'END'
case "$*" in
  *event_reasons*) echo 'Field "clocks_event_reasons.active" is not a valid field to query.'; exit 2 ;;
  *=compute_cap\ *) echo 9.9 ;;
  *-lms*) while [ -e "$PRETEND" ]; do printf '1980, 650.4, 0x0000000000000004\n210, 70.0, 0x0000000000000001\n'; sleep 0.1; done ;;
  *) echo '580.1, 9.9, 80000 MiB, 1980 MHz, 2619 MHz, 5, 16' ;;
esac
END
# The first pass of 38.5 million nonzeros launches 37 chunks one by one.
fake tools/ncu <<'END'
skipped=$(sed 's/.*--launch-skip \([0-9]*\).*/\1/' <<<"$*")
case "$*" in
  *stalled*) echo '==ERROR== ERR_NVGPUCTRPERM - no permission' ;;
  *) printf '  void mttkrp_kernel of %s chunks\n    L2 Hit Rate  %%  77.5\n    Nothing of interest  1\n' \
       "$([ "$skipped" -ge 37 ] && echo 16 || echo 1)" ;;
esac
END
fake tools/compute-sanitizer <<'END'
[[ $* != *racecheck* ]] || { echo 'ERROR SUMMARY: 1 error'; exit 9; }
END
fake tools/ldd <<'END'
echo "ldd (Some GLIBC) $(cat "$PRETEND/glibc")"
END
echo 2.39 >glibc
# What hangs, hangs for good: a second is as long as its limit.
fake tools/timeout <<'END'
[[ $* == *Slow.* ]] && set -- -k 1 1 "${@:4}"
exec "$REAL_TIMEOUT" "$@"
END
# For a newer driver, programs that fail.
fake pack/cuda12/test_gpu <<'END'
NEWER=1 exec "$(dirname "$0")/../test_gpu" "$@"
END
fake pack/cuda12/blco-gen <<'END'
[[ $* != *words* ]] || { echo 'blco-gen: no space left' >&2; exit 3; }
exec "$(dirname "$0")/../blco-gen" "$@"
END
cp pack/blco-cpd pack/cuda12
fake pack/cuda12/blco-bench <<'END'
[[ $* != *wide-deep* ]] || kill -SEGV $$
[[ $* != *f32* ]] || { echo 'blco-bench: an illegal address' >&2; exit 6; }
exec "$(dirname "$0")/../blco-bench" "$@"
END

# Times, the day and the disk differ from run to run.
show() {
  sed -E 's/in [0-9]+ s\./in T s./; s/20[0-9-]{8}/DATE/; s/from [^ ]+ at .*/from DISK at SPEED./; s/file of [0-9]+/file of N/' "$1" |
    sed -E '/^## Steps/,/^All/ s/^(\| [^|]*\| [0-9]+ \|) [0-9]+ \|[^|]*\|[^|]*\|[^|]*\|/\1 T | MHz | W | WHY |/' |
    sed -E 's/[0-9]+ ms \|$/N ms |/'
}
run_check() {
  local code=0
  PATH=$PWD/tools:$PATH "$check" "$@" >log 2>&1 || code=$?
  echo "exit $code"
  sum=$(sed -n 's/.*all limits together: \([0-9]*\) s$/\1/p' log)
  echo "left behind: $(ls tmp)"
}

echo '# everything works, from a packed file'
touch all_is_well
tar -C pack -czf pack.tar.gz .
run_check --run pack.tar.gz --results results.md
show results.md | sed '/^## Tables/,$d'
[ "$sum" -lt 480 ] && echo 'the sum is under eight minutes'
cat calls

echo '# the programs take what it asks of them'
for name in A words D H formats; do blco-gen --shape 30x20x10 --nnz 500 -o $name.blco >/dev/null 2>&1; done
grep -v '^blco-gen' calls | while read -r call; do
  code=0
  CUDA_VISIBLE_DEVICES=-1 $call >message 2>&1 </dev/null || code=$?
  [ $code -ne 2 ] && [ $code -ne 127 ] || { echo "$call: exit $code"; cat message; }
done

echo '# with programs for a driver of CUDA 12: a test that fails, one that hangs, steps that fail and crash'
rm all_is_well
touch old_driver
echo '80-real;100;90-virtual' >pack/architectures
run_check --run pack --results out/ --full
show out/RESULTS.md | sed '/^## Tables/,$d'
[ "$sum" -lt 600 ] && echo 'the sum is under ten minutes'
grep -q '| 210 to 1980 | 650 | 0x4 |' out/RESULTS.md && echo 'clock, power and what lowers the clock'
tar -tzf out/logs.tar.gz | grep -E 'tests|A-usual' | LC_ALL=C sort

echo '# killed midway'
rm old_driver
echo '80-real;90-real' >pack/architectures
touch all_is_well killed_midway
{ run_check --run pack --results cut.md | head -n 1; } 2>/dev/null
rm -r tmp/*
show cut.md | grep -E '^\| (tests|A-f32|words.*) \|'
touch old_driver

echo '# no GPU that one of them can use'
cp pack/test_gpu pack/cuda12
run_check --run pack --results none.md
cat log
ls none.md 2>&1

echo '# an older C library, a broken pack, none, and wrong use'
echo 2.31 >glibc
run_check --run pack --results none.md
cat log none.md
head -c 100 pack.tar.gz >broken.tar.gz
run_check --run broken.tar.gz --results broken/
cat broken/RESULTS.md
rm none.md
run_check --run empty --results none.md
cat log
"$check" --run 2>&1 | head -n 1
"$check" --built empty 2>&1 | head -n 1

echo '# what a pack is compiled for, and kernels that spill'
for name in known_architectures spilling_kernels; do
  eval "$(sed -n "/^$name() {/,/^}/p" "$(dirname "$check")/gpu_pack.sh")"
done
fake tools/nvcc <<'END'
printf 'sm_%s\n' 80 90 100 $MORE
END
known_architectures tools/nvcc
MORE='103 120' known_architectures tools/nvcc
spilling_kernels <<'END'
ptxas info    : Compiling entry function 'mttkrp_one' for 'sm_90'
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Compiling entry function 'mttkrp_two' for 'sm_90'
    8 bytes stack frame, 8 bytes spill stores, 12 bytes spill loads
END
