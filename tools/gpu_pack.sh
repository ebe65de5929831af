#!/usr/bin/env bash
# Packs what tools/gpu_check.sh --run needs on a machine without a compiler: programs, libraries, the commit's name, the
# C library's version that they need. With a CUDA 12 compiler here, programs for drivers of CUDA 12 too; else it
# compiles the device's code against the headers of CUDA 12 as a check.
#
# usage: gpu_pack.sh PACK ARCHITECTURES [BUILT]
#
# PACK is a folder to fill, or a file named *.tar.*. ARCHITECTURES are as in CMAKE_CUDA_ARCHITECTURES; none: 80, 90, 100
# and 120, as far as nvcc knows them, and PTX. With BUILT, a build folder, nothing is compiled. NVCC12 names the
# compiler of CUDA 12; without it, /usr/local/cuda-12* is looked at.
set -euo pipefail
pack=$1
architectures=$2
built=${3-}
cd "$(dirname "${BASH_SOURCE[0]}")/.."

programs=(test_gpu blco-gen blco-bench blco-cpd blco-ingest)
max_mib=40  # what can be carried, with room for the working tree
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
folder=$work/pack
outer=$work/outer
mkdir -p "$outer/lib"
case "$pack" in
  *.tar.*) ;;
  *) folder=$pack ;;
esac

say() { echo "gpu_check.sh: $*" >&2; }

# Configures and builds the programs in a folder; the other arguments are options of CMake.
build() {
  local where=$1
  shift
  cmake --preset cuda -B "$where" -DBLCO_TESTS=ON "-DCMAKE_CUDA_ARCHITECTURES=$architectures" "$@" >&2
  cmake --build "$where" -j"$(nproc)" --target "${programs[@]/#/packed_}" >&2
}

# The shared libraries that a program loads but those of the C library and the driver.
copy_libraries() {
  ldd "$1" | awk '$3 ~ /^\// { print $3 }' |
    { grep -Ev '/(libc|libm|libdl|librt|libpthread|ld-linux[^/]*|libcuda)\.so' || true; } |
    while read -r library; do strip -o "$2/$(basename "$library")" "$library"; done
}

# The programs of a build, as tests/gpu links them to travel, and their libraries. cuBLAS, of some hundred MB, is found
# where they run.
gather() {
  local from=$1/bin/packed to=$2
  mkdir -p "$to" "$folder/lib"
  for program in "${programs[@]}"; do
    strip -o "$to/$program" "$from/$program"
    if ldd "$from/$program" | grep -q libcublas; then
      say "$program links cuBLAS, and would not start where that is missing"
      exit 1
    fi
    copy_libraries "$from/$program" "$folder/lib"
  done
}

# gzip finds nothing again that lies more than 32 KiB back, and the programs have most of their code in common. So it
# gets what zstd made of them, with a zstd that unpacks it.
wrap() {
  tar -C "$folder" --owner=0 --group=0 -cf - . | compress >"$outer/pack.tar.zst"
  folder=$outer
}

compress() { zstd -q -12 --long=27; }

# The newest version of the C library whose symbols the pack uses.
glibc_version() {
  find "$folder" "$outer" -type f -exec objdump -T {} + | grep -oE 'GLIBC_[0-9.]+' | sort -uV | tail -n 1 |
    sed 's/.*_//'
}

# Of 8.6 and 8.9 the code for 8.0 is taken; of others the driver compiles the PTX.
known_architectures() {
  local list='80-real;90-real' known more
  known=$("$1" --list-gpu-code)
  for more in 100 120; do
    if grep -qx "sm_$more" <<<"$known"; then list+=";$more-real"; fi
  done
  echo "$list;90-virtual"
}

# No MTTKRP kernel may keep numbers in memory that its registers have no room for. Each line given to the compilers is
# an architecture, the type of sums and that of factors.
check_spills() {
  local nvcc=$1 known arch types archs=() jobs=() count bad
  known=$("$nvcc" --list-gpu-code)
  for arch in 80 90 120; do
    if ! grep -qx "sm_$arch" <<<"$known"; then continue; fi
    archs+=("$arch")
    for types in 'double double' 'float float' 'double float'; do jobs+=("$arch $types"); done
  done
  say "looking for registers that spill, which takes minutes: MTTKRP for ${archs[*]}"
  # shellcheck disable=SC2016
  printf '%s\n' "${jobs[@]}" | NVCC=$nvcc INTO=$work xargs -P "$(nproc)" -L 1 bash -c '
    "$NVCC" -std=c++20 -O3 -DNDEBUG -arch="sm_$0" -Xptxas -v -I. -DBLCO_SUM="$1" -DBLCO_FACTOR="$2" -cubin \
      kernels/cuda/mttkrp.cu -o "$INTO/$0-$1-$2.cubin" >"$INTO/$0-$1-$2.ptxas" 2>&1 ||
      { cat "$INTO/$0-$1-$2.ptxas" >&2; exit 255; }'
  count=$(cat "$work"/*.ptxas | grep -c 'Compiling entry function.*mttkrp_kernel' || true)
  if [ "$count" -eq 0 ]; then
    say "ptxas names no MTTKRP kernel, so that spills could not be looked for"
    return 1
  fi
  bad=$(tail -n +1 "$work"/*.ptxas | spilling_kernels)
  if [ -n "$bad" ]; then
    say "registers spill:"$'\n'"$bad"
    return 1
  fi
  say "none of $count MTTKRP kernels spills registers"
}

# Of what ptxas says of all kernels in several files, each behind the file's name.
spilling_kernels() {
  awk -F"'" '
    /^==> / { file = $0; sub(/.*\//, "", file); sub(/\.ptxas.*/, "", file) }
    /Compiling entry function/ { name = $2 }
    / spill stores/ && !/ 0 bytes spill stores, 0 bytes spill loads/ { print (file == "" ? "" : file " ") name }'
}

find_nvcc12() {
  if [ -n "${NVCC12-}" ]; then
    echo "$NVCC12"
  else
    { find /usr/local/cuda-12*/bin/nvcc -maxdepth 0 2>/dev/null || true; } | sort -V | tail -n 1
  fi
}

# CUDA 12's headers are on PyPI, its compiler is not: there are ptxas and libnvvm, but neither nvcc nor cudafe++.
fetch_headers12() {
  local into=$1 python
  for python in python3 /usr/bin/python3; do
    "$python" -m pip --version >/dev/null 2>&1 || continue
    "$python" -m pip install --quiet --disable-pip-version-check --no-input --no-deps --upgrade --retries 1 \
      --target "$into" nvidia-cuda-runtime-cu12 nvidia-cuda-nvcc-cu12 nvidia-cuda-cccl-cu12 >"$into.log" 2>&1 && return
  done
  return 1
}

# Compiles each source of kernels/cuda against the headers of CUDA 12, those of the toolkit here behind them: device
# code down to PTX, host code to the end of its checks.
check_headers12() {
  local wheels=build/cuda12_headers bad=() count=0 source
  mkdir -p "$wheels"
  if ! fetch_headers12 "$wheels"; then
    say "no CUDA 12 compiler here, and its headers cannot be fetched from PyPI: nothing for drivers of CUDA 12"
    return
  fi
  local nvcc=${CUDACXX:-nvcc}
  local toolkit
  toolkit=$(dirname "$(dirname "$(readlink -f "$(command -v "$nvcc")")")")
  # The header of cuBLAS comes only with all of the library: the emulator's stands in, with the few calls.
  install -D tests/simt/include/cublas_v2.h "$wheels/cublas/cublas_v2.h"
  # One precision stands for all in sources that are compiled once for each.
  local include=(-DBLCO_SUM=double -DBLCO_FACTOR=double -I. -I"$wheels/nvidia/cuda_runtime/include" -I"$wheels/nvidia/cuda_nvcc/include"
                 -I"$wheels/nvidia/cuda_cccl/include" -I"$wheels/cublas")
  for source in kernels/cuda/*.cu kernels/cuda/*.cpp; do
    count=$((count + 1))
    if [ "${source##*.}" = cu ]; then
      "$nvcc" -std=c++20 -arch=sm_80 --extended-lambda --expt-relaxed-constexpr -Xcicc -O0 \
        -DCCCL_DISABLE_CTK_COMPATIBILITY_CHECK "${include[@]}" -ptx "$source" -o /dev/null >"$wheels.log" 2>&1
    else
      "${CXX:-g++}" -std=c++20 -fsyntax-only "${include[@]}" -isystem "$toolkit/include" "$source" >"$wheels.log" 2>&1
    fi || { bad+=("$source"); cat "$wheels.log" >&2; }
  done
  local version header=$wheels/nvidia/cuda_runtime/include/cuda_runtime_api.h
  version=$(sed -n 's/^#define CUDART_VERSION *\([0-9]*\).*/\1/p' "$header")
  version=$((version / 1000)).$((version % 1000 / 10))
  if [ ${#bad[@]} -gt 0 ]; then
    say "these do not compile with the headers of CUDA $version: ${bad[*]}"
    return 1
  fi
  say "$count sources compile with the headers of CUDA $version (a stand-in for that of cuBLAS)." \
    "PyPI has no nvcc 12 to make programs with: set NVCC12"
}

build_all() {
  local nvcc=${CUDACXX:-nvcc} nvcc12 small=
  command -v "$nvcc" >/dev/null || {
    say "no nvcc here; build with --pack where there is one, and run with --run"
    exit 7
  }
  tools/install_dependencies.sh --tests
  architectures=${architectures:-$(known_architectures "$nvcc")}
  check_spills "$nvcc"
  # Of machine code, what zstd leaves is a tenth. Drivers of CUDA 13 know how to read it.
  if "$nvcc" --help | grep -q -e --compress-mode; then small=--compress-mode=size; fi
  mkdir -p "$folder"
  echo "$architectures" >"$folder/architectures"
  build build/cuda "-DCMAKE_CUDA_FLAGS=$small"
  gather build/cuda "$folder"
  nvcc12=$(find_nvcc12)
  if [ -n "$nvcc12" ]; then
    build build/cuda12 "-DCMAKE_CUDA_COMPILER=$nvcc12"
    gather build/cuda12 "$folder/cuda12"
  else
    check_headers12
  fi
}

if [ "$folder" = "$pack" ]; then rm -rf "${folder:?}/lib" "$folder/cuda12"; fi
if [ -n "$built" ]; then gather "$built" "$folder"; else build_all; fi
if [[ $pack == *.gz ]] && command -v zstd >/dev/null; then
  strip -o "$outer/zstd" "$(command -v zstd)"
  copy_libraries "$outer/zstd" "$outer/lib"
fi
glibc=$(glibc_version)
echo "$glibc" >"$folder/glibc"
git rev-parse --short HEAD >"$folder/commit"
[ -z "$(git status --porcelain)" ] || echo "$(cat "$folder/commit") and changes" >"$folder/commit"
[ "$folder" != "$pack" ] || exit 0

mkdir -p "$(dirname "$pack")"
[ ! -e "$outer/zstd" ] || wrap
case "$pack" in
  *.zst) tar -C "$folder" --owner=0 --group=0 -cf - . | compress >"$pack" ;;
  *) tar -C "$folder" --owner=0 --group=0 -caf "$pack" . ;;
esac
bytes=$(stat -c %s "$pack")
say "$pack: $(awk "BEGIN { printf \"%.1f\", $bytes / 1048576 }") MiB, for glibc $glibc or newer"
if [ "$bytes" -gt $((max_mib << 20)) ]; then
  say "over $max_mib MiB, which may be more than can be carried: give fewer --architectures"
  exit 1
fi
