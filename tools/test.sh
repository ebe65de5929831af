#!/usr/bin/env bash
# Builds blco and runs every test; says how many were skipped, and why, and whether CUDA was there.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

tools/install_dependencies.sh --tests
build=build/release
cmake --preset release -DBLCO_TESTS=ON
cmake --build "$build" -j"$(nproc)"

report=$PWD/$build/tests.xml
log=$build/tests.log
rm -f "$report"
status=0
ctest --test-dir "$build" --output-on-failure -j"$(nproc)" --output-junit "$report" | tee "$log" || status=$?

echo
if grep -q '^CMAKE_CUDA_COMPILER:[^=]*=.*/' "$build/CMakeCache.txt"; then
  echo "CUDA: found ($(sed -n 's/^CMAKE_CUDA_COMPILER:[^=]*=//p' "$build/CMakeCache.txt"))"
else
  echo "CUDA: no nvcc was found; the CUDA parts were left out"
fi
grep -E 'tests passed, .* out of' "$log" || true
tools/summarize_tests.py "$report"
exit "$status"
