#!/usr/bin/env bash
# Compiles every kernel for every architecture with the NVRTC of three stacks, without a GPU, and compares registers and
# spills with kernels/budget.csv. The wheels are those of the stacks' lock files, hash-checked; they stay in the build
# folder. What each kernel uses is left in kernel_resources.csv there.
#
#   ci/kernel_test.sh [BUILD_FOLDER]
set -euo pipefail
cd "$(dirname "$0")/.."
. ci/failure_trap.sh

build=${1:-build-ci}
stacks=(torch-2.1.0-cu121 torch-2.9.0-cu128 torch-2.15.0-cu132)
python=$(command -v /usr/bin/python3 || command -v python3)

# fetch STACK: the stack's NVRTC wheel, unpacked; a lock file is a list of pip requirements, one a line.
fetch() {
  local folder=$build/nvrtc/$1
  [ -e "$folder/complete" ] && return
  rm -rf "$folder"
  mkdir -p "$folder"
  grep -E '^nvidia-cuda-nvrtc(-cu[0-9]+)?==' "matrix/stacks/$1.lock" >"$folder/requirement.txt"
  "$python" -m pip download --quiet --require-hashes --no-deps --dest "$folder" --requirement "$folder/requirement.txt"
  "$python" -m zipfile -e "$folder"/*.whl "$folder"
  rm "$folder"/*.whl
  touch "$folder/complete"
}

for stack in "${stacks[@]}"; do fetch "$stack"; done
[ -x "$build/bin/kernel_check" ] || cmake --build "$build" --target kernel_check

# One process for each compiler: a compilation uses one core.
running=()
for stack in "${stacks[@]}"; do
  rm -f "$build/nvrtc/$stack.csv"
  REPROBENCH_NVRTC=$(find "$PWD/$build/nvrtc/$stack" -name 'libnvrtc.so.*' | head -n 1) \
    REPROBENCH_KERNEL_RESOURCES=$build/nvrtc/$stack.csv "$build/bin/kernel_check" >"$build/nvrtc/$stack.log" 2>&1 &
  running+=($!)
done
failed=0
for i in "${!stacks[@]}"; do
  wait "${running[$i]}" || failed=1
  echo "NVRTC of ${stacks[$i]}:"
  cat "$build/nvrtc/${stacks[$i]}.log"
done
{
  echo "nvrtc,architecture,kernel,registers,stack_bytes,spill_bytes,shared_bytes"
  for stack in "${stacks[@]}"; do cat "$build/nvrtc/$stack.csv"; done
} >"$build/kernel_resources.csv"
exit "$failed"
