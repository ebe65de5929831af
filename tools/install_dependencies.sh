#!/usr/bin/env bash
# Installs the Debian packages that blco is built from; with --tests, those of its tests too; with --wheel, what unpacks
# Debian's source packages. Quiet when all are there; else one line, and a log of what the package manager says.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

packages=(g++ ninja-build cmake pkg-config libhdf5-dev libzstd-dev libisal-dev libhwy-dev libeigen3-dev libcli11-dev
          libfmt-dev nlohmann-json3-dev)
case "${1-}" in
  "") ;;
  --tests) packages+=(make libgtest-dev libgmock-dev libboost-context-dev python3 python3-dev python3-pip python3-venv
                      python3-numpy python3-pandas python3-h5py python3-matplotlib hdf5-tools liblbfgsb-dev
                      openmpi-bin libopenmpi-dev mpich libmpich-dev tzdata) ;;
  --wheel) packages+=(make dpkg-dev python3-dev python3-venv) ;;
  *) echo "usage: $0 [--tests | --wheel]" >&2; exit 2 ;;
esac

if ! command -v apt-get >/dev/null || ! command -v dpkg-query >/dev/null; then
  echo "No apt here: nothing is installed. CMake will name what it does not find of:" >&2
  echo "  ${packages[*]}" >&2
  exit 0
fi

missing=()
for package in "${packages[@]}"; do
  status=$(dpkg-query -W -f='${db:Status-Status}\n' "$package" 2>/dev/null || true)
  # A package of several architectures has one line each.
  grep -qx installed <<<"$status" || missing+=("$package")
done
[ ${#missing[@]} -gt 0 ] || exit 0

as_root=()
if [ "$(id -u)" -ne 0 ]; then
  if ! command -v sudo >/dev/null; then
    echo "Not root, and no sudo: CMake will fail if it does not find these elsewhere:" >&2
    echo "  apt-get install ${missing[*]}" >&2
    exit 0
  fi
  as_root=(sudo)
fi
log=build/packages.log
mkdir -p build
echo "Installing ${#missing[@]} Debian packages, which takes a minute or two (log: $PWD/$log): ${missing[*]}" >&2
install="${as_root[*]} env DEBIAN_FRONTEND=noninteractive apt-get -y -o DPkg::Lock::Timeout=300"
{ $install update || echo "The package lists could not be updated; those at hand are used."; } >"$log" 2>&1
if ! $install install --no-install-recommends "${missing[@]}" >>"$log" 2>&1 </dev/null; then
  tail -n 5 "$log" >&2
  echo "The packages could not be installed; $PWD/$log has all that the package manager said" >&2
  exit 1
fi
