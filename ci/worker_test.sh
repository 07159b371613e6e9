#!/usr/bin/env bash
# Builds the worker's unit tests against one installed stack and runs them.
#
#   ci/worker_test.sh [--build] build-ci/bin/reprobench [STACK]      --build: does not run them
set -euo pipefail
cd "$(dirname "$0")/.."
. ci/failure_trap.sh

build_alone=no
if [ "${1:-}" = --build ]; then build_alone=yes && shift; fi
reprobench=$(realpath "$1")
stack=${2:-torch-2.9.0-cu128}
export REPROBENCH_STACKS=${REPROBENCH_STACKS:-$PWD/.reprobench/stacks}
build=build-ci/worker-$stack

"$reprobench" stack install "$stack" >/dev/null
folder=$(find "$REPROBENCH_STACKS" -maxdepth 1 -type d -name "$stack-*" -print -quit)
libraries=$folder/site/torch/lib
for part in "$folder"/site/nvidia/*/lib; do libraries="$libraries;$part"; done
abi=1
case $stack in torch-2.1.0-*) abi=0 ;; esac # before 2.3 wheels kept the old C++ ABI

configure() { # BUILD HEADERS
  cmake -S suites/worker -B "$1" -G Ninja -DREPROBENCH_BUILD_TESTS=ON "-DREPROBENCH_TORCH_INCLUDE_DIRS=$2;$2/torch/csrc/api/include" \
    "-DREPROBENCH_TORCH_LIBRARY_DIRS=$libraries" "-DREPROBENCH_CXX11_ABI=$abi" >/dev/null
}

# Headers are reached by a link. Once it leads elsewhere, no command line of the build differs, and no old object may stay.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
ln -s "$folder/site/torch/include" "$work/elsewhere"
configure "$work/build" "$folder/site/torch/include"
touch "$work/build/CMakeFiles/main.cpp.o"
configure "$work/build" "$folder/site/torch/include"
[ -e "$work/build/CMakeFiles/main.cpp.o" ] || { echo "worker test: an object is lost though its headers are the same" >&2; exit 1; }
configure "$work/build" "$work/elsewhere"
[ ! -e "$work/build/CMakeFiles/main.cpp.o" ] || { echo "worker test: an object of other headers stayed" >&2; exit 1; }

configure "$build" "$folder/site/torch/include"
cmake --build "$build" --target worker_test
[ "$build_alone" = yes ] || "$build/bin/worker_test"
