#!/usr/bin/env bash
# Which headers a worker was compiled with that are neither its stack's, nor this checkout's, nor the C and C++ library's: a
# CUDA of the machine that a compiler finds by itself. Without it the same build would fail, or be another one.
#
#   ci/foreign_headers.sh BUILD STACK_FOLDER...
#
# Reads what the compiler wrote down for ninja. Exit code 1, and the headers, if there are any.
set -euo pipefail
checkout=$(cd "$(dirname "$0")/.." && pwd)
# shellcheck source=ci/failure_trap.sh
. "$checkout/ci/failure_trap.sh"

build=$(realpath -s "$1")
seen=$(ninja -C "$build" -t deps | awk '/^    / { print substr($0, 5) }' | sort -u | (cd "$build" && xargs -r -d '\n' realpath -sm))
[ -n "$seen" ] || { echo "foreign headers: nothing was compiled in $build" >&2; exit 1; }
own=("$checkout/" "$build/" /usr/lib/)
for folder in "${@:2}"; do own+=("$(realpath -s "$folder")/"); done
# The distribution's folder is the C library's, and nothing of CUDA or LibTorch may come from there either.
cuda_or_torch='^/usr/include/(.*/)?((ATen|c10|crt|caffe2|cub|cuda|cooperative_groups|nv|thrust|torch)/|(cu|nccl|nvrtc|nvml|nvtx|nvToolsExt|vector_|driver_types|device_types|host_defines)[^/]*$)'
foreign=$(awk -v pattern="$cuda_or_torch" -v own="$(printf '%s\n' "${own[@]}")" '
  BEGIN { count = split(own, prefix, "\n") }
  {
    for (i = 1; i <= count; ++i) if (prefix[i] != "" && index($0, prefix[i]) == 1) next
    if (index($0, "/usr/include/") == 1 && $0 !~ pattern) next
    print
  }' <<<"$seen")
[ -n "$foreign" ] || exit 0
echo "foreign headers: $build was compiled with headers that are not the stack's:" >&2
echo "$foreign" >&2
exit 1
