#!/usr/bin/env bash
# One step of using blco as a stranger does: install it into an empty prefix, or build against what was installed there.
# usage: check_consumer.sh STEP BUILD WORK CONFIG CMAKE CXX [CXX_FLAGS]
set -euo pipefail
step=$1 build=$2 work=$3 config=$4 cmake=$5 cxx=$6
shift 6
flags=$*
consumer=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
tree=$(cd "$consumer/../.." && pwd)
prefix=$work/prefix
export PKG_CONFIG_PATH=
for libraries in "$prefix"/lib*; do PKG_CONFIG_PATH=$libraries/pkgconfig:$PKG_CONFIG_PATH; done
export LD_LIBRARY_PATH=$prefix/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}

fail() { echo "$*" >&2; exit 1; }
fresh() { rm -rf "$1" && mkdir -p "$1"; }

case $step in
  install)
    # Moved after the installation: nothing in it may remember where it was.
    fresh "$work"
    "$cmake" --install "$build" --config "$config" --prefix "$work/first" >"$work/install.log" || fail "$(tail "$work/install.log")"
    mv "$work/first" "$prefix"
    if grep -rIl -e "$work/first" -e "$tree" -e "$build" "$prefix"; then fail "these name a folder of this machine"; fi
    for program in "$tree"/tools/programs/blco_*.cpp; do
      name=$(basename "$program" .cpp)
      "$prefix/bin/${name/_/-}" --version || fail "$name was not installed"
    done
    ;;
  find_package)
    fresh "$work/$step"
    "$cmake" -S "$consumer" -B "$work/$step" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_BUILD_TYPE=Release \
      -DCMAKE_CXX_COMPILER="$cxx" -DCMAKE_CXX_FLAGS="$flags"
    grep "^blco_DIR:PATH=$prefix/" "$work/$step/CMakeCache.txt" || fail "another blco was found"
    "$cmake" --build "$work/$step"
    "$work/$step/consumer" "$work/$step"
    ;;
  pkg_config)
    fresh "$work/$step"
    # shellcheck disable=SC2046,SC2086
    "$cxx" $flags -std=c++20 "$consumer/main.cpp" -o "$work/$step/consumer" $(pkg-config --cflags --libs blco)
    "$work/$step/consumer" "$work/$step"
    ;;
  readme)
    # The block of C++ in README, with what it leaves to its reader.
    fresh "$work/$step"
    block() { awk '/^```cpp/ { inside = 1; next } /^```/ { inside = 0 } inside' "$tree/README.md"; }
    {
      block | grep '^#include'
      cat <<EOF
#include <cstdio>
static bool stop_button = false;
static void use(std::uint64_t row, double value) { std::printf("item %d %d\n", static_cast<int>(row), value > 0); }
int main() {
EOF
      block | grep -v '^#include' | sed '/^std::vector<double> count;/a for (std::uint32_t i = 0; i < 600; ++i) {\
        user.push_back(i % 30); item.push_back(i % 7); day.push_back(i % 5); count.push_back(1 + i % 3); }'
      echo '}'
    } >"$work/$step/readme.cpp"
    # shellcheck disable=SC2046,SC2086
    "$cxx" $flags -std=c++20 "$work/$step/readme.cpp" -o "$work/$step/readme" $(pkg-config --cflags --libs blco)
    cd "$work/$step"
    [ "$(./readme | grep -c '^item [0-6] [01]$')" = 3 ] || fail "README's program names no three items"
    [ -s model.h5 ] || fail "README's program saved no model"
    ;;
  headers)
    # All that are public, and each by itself, with nothing but the prefix to look in.
    expected=$(cd "$tree" && ls engine/include/blco/*.hpp blco/{arrow_abi,duplicate_policy,enum_names,error}.hpp \
      blco/{input_reading,kernel_choice,labels,loss,model_header,row_constraint,stop_reason}.hpp |
      xargs -n1 basename | sort)
    installed=$(ls "$prefix/include/blco" | sort)
    [ "$installed" = "$expected" ] || fail "installed: $installed"
    for header in $installed; do
      echo "$header"
      printf '#include <blco/%s>\n#include <blco/%s>\n' "$header" "$header" |
        "$cxx" $flags -std=c++20 -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror -fsyntax-only \
          -I"$prefix/include" -x c++ -
    done
    ;;
  subdirectory)
    # Configured only: built, it would be the whole library once more.
    fresh "$work.$step"
    cat >"$work.$step/CMakeLists.txt" <<EOF
cmake_minimum_required(VERSION 3.25)
project(outer LANGUAGES CXX)
add_subdirectory("$tree" blco)
add_executable(consumer "$consumer/main.cpp")
target_link_libraries(consumer PRIVATE blco::blco)
if(CMAKE_CUDA_COMPILER)
  message(FATAL_ERROR "an outer project would compile the kernels without having asked for them")
endif()
foreach(target blco-cpd test_engine)
  if(TARGET \${target})
    message(FATAL_ERROR "\${target} is none of an outer project's business")
  endif()
endforeach()
EOF
    "$cmake" -S "$work.$step" -B "$work.$step/build" -DCMAKE_CXX_COMPILER="$cxx"
    if grep -q blco "$work.$step/build/cmake_install.cmake" && grep -rq "bin/blco" "$work.$step"/build/*/cmake_install.cmake; then
      fail "an outer project would install blco"
    fi
    ;;
  *) fail "no step $step" ;;
esac
