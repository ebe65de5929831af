# gpu_check.sh with programs that only pretend: every section of its results, and a failure wherever something fails.
# Time on a GPU is too rare to be lost to a mistake in a script.
check=$(dirname "$1")/../../../tools/gpu_check.sh
mkdir -p pack/cuda12 tools empty
echo abc1234 >pack/commit
export PRETEND=$PWD

# A program of the pack, or a tool of CUDA, from standard input.
fake() {
  { echo '#!/usr/bin/env bash'; cat; } >"$1"
  chmod +x "$1"
}
fake pack/test_gpu <<'END'
[ ! -e "$PRETEND/old_driver" ] || { echo 'SKIPPED: no GPU: the driver is too old'; exit 77; }
[[ $* == *=-* ]] || echo '[  PASSED  ] 70 tests.'
END
fake pack/blco-gen <<'END'
while [ "$1" != -o ]; do shift; done
echo some bytes >"$2"
echo "$2 (38,500,000 nonzeros, 1.0 MiB)"
END
fake pack/blco-bench <<'END'
case "$*" in
  *mixed*) echo "blco-bench: --precision: 'mixed' is not one of f64|f32" >&2; exit 2 ;;
esac
cat <<TABLE
device  Some GPU, 99 multiprocessors, 40.0 MiB of L2 cache, 2 threads; memory copies 9.0 GB/s

chunks    resolution   mode         ms    M nnz/s
memory    auto            0      1.000     3100.0
memory    auto         mean                3000.0
TABLE
[[ $* != *all* ]] || echo 'memory    hierarchical mean                1000.0'
[[ $* != *share* ]] || echo 'streamed  auto         mean                2700.0'
END
fake tools/nvidia-smi <<'END'
echo "Some GPU ${1#*=}"
END
fake tools/ncu <<'END'
case "$*" in
  *stalled*) echo '==ERROR== ERR_NVGPUCTRPERM - no permission' ;;
  *) printf '  void mttkrp_kernel (1024, 1, 1)\n    L2 Hit Rate  %%  77.5\n    Nothing of interest  1\n' ;;
esac
END
fake tools/compute-sanitizer <<'END'
[[ $* != *racecheck* ]] || { echo 'ERROR SUMMARY: 1 error'; exit 9; }
END
# For a newer driver, programs that fail.
fake pack/cuda12/test_gpu <<'END'
[[ $* != *=-* ]] || exit 0
echo '[  PASSED  ] 68 tests.'
printf '[  FAILED  ] %s\n' '1 test, listed below:' Suite.Test
exit 1
END
fake pack/cuda12/blco-gen <<'END'
[[ $* != *Amazon* ]] || { echo 'blco-gen: no space left' >&2; exit 3; }
exec "$(dirname "$0")/../blco-gen" "$@"
END
fake pack/cuda12/blco-bench <<'END'
[[ $* != *Enron*f32* ]] || { echo 'blco-bench: an illegal address' >&2; exit 6; }
exec "$(dirname "$0")/../blco-bench" "$@"
END

# Times, the day and the disk differ from run to run.
show() {
  sed -E 's/in [0-9]+ s\./in T s./; s/20[0-9-]{8}/DATE/; s/from [^ ]+ at .*/from DISK at SPEED./' results.md
}
run_check() {
  local code=0
  PATH=$PWD/tools:$PATH "$check" --run "$PWD/pack" --results "$PWD/results.md" "$@" >log 2>&1 || code=$?
  echo "exit $code"
}

echo '# everything works, but mixed precision is not there'
run_check
show | sed '/^### NELL-2-f32/,$d'
grep '^### ' results.md

echo '# with programs for a driver of CUDA 12, of which each fails once; and a race'
touch old_driver
run_check --full
show | sed '/^## Nonzeros/,$d'
grep -c '^### ' results.md

echo '# no GPU that one of them can use'
cp pack/test_gpu pack/cuda12
rm results.md
run_check
cat log
ls results.md 2>&1

echo '# no pack, and wrong use'
"$check" --run "$PWD/empty" --results "$PWD/none.md" || echo "exit $?"
"$check" --run 2>&1 | head -n 1
