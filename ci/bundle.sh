#!/usr/bin/env bash
# Packs what a machine without a network needs to judge the PyTorch it has: the coordinator with its libraries, the sources and headers
# of the worker, matrices, reports and scripts. Runs on any x86-64 Linux with glibc 2.36 or newer that has a C++20 compiler and
# CMake; what is built there is the worker alone.
#
#   ci/bundle.sh [--out FILE.tar.gz] [--preset PRESET] [--tests KERNELS_TEST BACKEND_TEST]
#   there: tar xzf reprobench.tar.gz && cd reprobench && ci/gpu.sh --python python3
set -euo pipefail
cd "$(dirname "$0")/.."
. ci/failure_trap.sh

out=reprobench.tar.gz preset=release tests=()
while [ $# -gt 0 ]; do
  case $1 in
    --out) out=$2 ;;
    --preset) preset=$2 ;;
    --tests)
      [ $# -ge 3 ] || { echo "bundle: --tests names two programs" >&2; exit 2; }
      tests=("$2" "$3" "$(dirname "$3")/reprobench-worker")
      shift
      ;;
    *) sed -n 's/^#   ci.bundle/usage: ci\/bundle/p' "$0" >&2; exit 2 ;;
  esac
  shift 2
done
limit_bytes=60000000
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
root=$work/reprobench
mkdir -p "$root"/bin "$root"/lib "$root"/third_party/include

cmake --preset "$preset" >/dev/null
cmake --build --preset "$preset" --target reprobench >/dev/null
build=build-$preset
[ "$preset" = release ] && build=build
cp "$build"/bin/reprobench "$build"/bin/reprobench-shepherd "$build"/bin/reprobench-enclosure "$root/bin"
cp -r "$build/schema" "$root"
# The tests that ci/first_gpu.sh runs on a card, as no machine without a network has Catch2, and the worker built beside them.
if [ ${#tests[@]} -gt 0 ]; then cp "${tests[@]}" "$root/bin"; fi
strip "$root"/bin/*

# The C library and its loader are the target's: older programs run on newer ones, and mixing them runs nowhere.
ldd "$root/bin/reprobench" | awk '$2 == "=>" { print $3 }' | while read -r library; do
  case ${library##*/} in
    libc.so.* | libm.so.* | libdl.so.* | libpthread.so.* | librt.so.* | libresolv.so.*) ;;
    *) cp -L "$library" "$root/lib" ;;
  esac
done
oldest=$(objdump -T "$root"/bin/reprobench "$root"/lib/* | grep -o 'GLIBC_2\.[0-9]*' | sort -uV | tail -n 1)
if [ "$(printf 'GLIBC_2.36\n%s\n' "$oldest" | sort -V | tail -n 1)" != GLIBC_2.36 ]; then
  echo "bundle: built here it asks for $oldest; build it on Debian 12 or older" >&2
  exit 1
fi

# Tracked files as they are here: what is tried is what is packed.
git ls-files -z | tar -c --null -T - | tar -x -C "$root"
for header in nlohmann xxhash.h xxh3.h gloo; do cp -r "/usr/include/$header" "$root/third_party/include"; done

mkdir -p "$(dirname "$out")"
tar -czf "$out" -C "$work" --owner=0 --group=0 reprobench
size=$(stat -c %s "$out")
echo "bundle: $out, $size bytes, for $oldest and newer"
[ "$size" -le "$limit_bytes" ] || { echo "bundle: over $limit_bytes bytes" >&2; exit 1; }
