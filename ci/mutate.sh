#!/usr/bin/env bash
# How much of a layer its own tests pin: one-line changes made by universalmutator over whole files, sampled. Each changed
# file is compiled elsewhere and linked in front of the layer's library; the tree stays as it is. By hand; a change takes 2
# to 20 s. What it found so far: ci/mutations.md.
#
#   ci/mutate.sh [--samples N] [--seed N] FILE_OR_FOLDER...   15 changes a file; ci/mutate.sh matrix/stats matrix/verdict/check.cpp
#   ci/mutate.sh --survivors FILE_OR_FOLDER...                only those that went unnoticed the last time
#   ci/mutate.sh --build build-ci ...                         with that build instead of an own one without optimisation
#
# A change that gives the object file of the unchanged source or of another change, or none, is replaced by another. It is
# noticed if the layer's test program fails, crashes or takes ten times as long. Tests run as process 1 of their own namespace
# with everything but /tmp read-only: what a changed line signals or deletes is nobody else's. Needs root. What went unnoticed
# is in build-mutate/survivors, as whole files. $CCACHE_PREFIX, where it is set, runs the compilers of one file as one command.
set -euo pipefail
cd "$(dirname "$0")/.."

samples=15
seed=1
only_survivors=no
build=
while [ $# -gt 0 ]; do
  case "$1" in
    --samples) samples=$2 && shift 2 ;;
    --seed) seed=$2 && shift 2 ;;
    --survivors) only_survivors=yes && shift ;;
    --build) build=$(realpath "$2") && shift 2 ;;
    -*) echo "usage: ci/mutate.sh [--samples N] [--seed N] [--survivors] [--build FOLDER] FILE_OR_FOLDER..." >&2 && exit 2 ;;
    *) break ;;
  esac
done
[ $# -gt 0 ] || { echo "mutate: name at least one file or folder, such as matrix/stats" >&2; exit 2; }

out=$PWD/build-mutate
survivors=$out/survivors
python=$(command -v /usr/bin/python3 || command -v python3)
mkdir -p "$survivors"
work=$(mktemp -d "$out/work-XXXXXX") # of this call: layers may be measured side by side, once they are built
trap 'rm -rf "$work"' EXIT
"$python" -m pip install --quiet --root-user-action=ignore --no-deps --require-hashes --upgrade --target "$out/python" -r ci/mutate-requirements.txt

sources_of() { # FILE_OR_FOLDER
  if [ -f "$1" ]; then echo "$1"; else git ls-files "$1/*.cpp" | grep -vE '(_test|_bench|_fuzz|/main)\.cpp$'; fi
}

# candidates SOURCE: files with a changed SOURCE, in an order that the seed decides.
candidates() {
  local folder=$out/mutants/$1
  if [ "$only_survivors" = yes ]; then
    { find "$survivors/$1" -name '*.cpp' -type f 2>/dev/null || true; } | sort
    return
  fi
  rm -rf "$folder" "${survivors:?}/$1" && mkdir -p "$folder"
  PYTHONPATH=$out/python "$python" -c 'from universalmutator.genmutants import main; main()' \
    "$1" cpp --noCheck --mutantDir "$folder" >"$work/mutator.log" 2>&1 </dev/null || { cat "$work/mutator.log" >&2; exit 1; }
  find "$folder" -type f | sort | shuf --random-source=<(yes "$seed")
}

# objects SOURCE: a line CHANGED_FILE for each of the first changes that has an object of its own, which is beside it, and a
# last line `same N invalid N`. One process, so that $CCACHE_PREFIX may run it.
objects() {
  local changed digest same=0 invalid=0
  local -A seen
  # The same name for all: an object file holds it.
  compile() { cp "$1" "$work/changed.cpp" && $compiler -O0 -w -fmax-errors=1 -include "$headers" -c "$work/changed.cpp" -o "$2" >"$work/compile.log" 2>&1; }
  [ -e "$headers.gch" ] || $compiler -O0 -w -x c++-header "$headers" -o "$headers.gch"
  compile "$source" "$work/clean.o" || { cat "$work/compile.log" >&2; exit 1; }
  digest=$(sha256sum <"$work/clean.o")
  seen[$digest]=yes
  while [ $((${#seen[@]} - 1)) -lt "$samples" ] && read -r changed; do
    if ! compile "$changed" "$changed.o"; then
      invalid=$((invalid + 1))
      continue
    fi
    digest=$(sha256sum <"$changed.o")
    if [ -n "${seen[$digest]+known}" ]; then
      same=$((same + 1))
      continue
    fi
    seen[$digest]=yes
    echo "$changed"
  done
  echo "same $same invalid $invalid"
}
export -f objects

run_tests() { # LIMIT_S PROGRAM
  # shellcheck disable=SC2016 # expanded by the shell that is told to
  unshare --mount --pid --fork --kill-child --mount-proc timeout --kill-after 5 "$1" bash -c '
    while read -r _ target _; do
      case "$target" in /proc* | /dev* | /sys*) ;; *) mount -o remount,bind,ro "$target" 2>/dev/null || true ;; esac
    done </proc/mounts
    mount -t tmpfs tmpfs /tmp && cd /tmp && exec "$0" --abort' "$2" >"$work/test.log" 2>&1 </dev/null
}

prepared=none
prepare() { # FOLDER LAYER
  [ "$prepared" = "$1" ] && return
  # Without optimisation nothing of a file is inlined into its neighbours of the same unity source, so that the linker can
  # replace it by the changed one, which comes first. In an optimised build a change may go unnoticed for that reason.
  if [ -z "$build" ]; then
    build=$out/build
    cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS_DEBUG=-O0 \
      -DCMAKE_UNITY_BUILD=ON -DCMAKE_UNITY_BUILD_BATCH_SIZE=24 >"$out/cmake.log"
  fi
  ninja -C "$build" "$2_test" >"$work/build.log" 2>&1 || { tail -n 30 "$work/build.log" >&2; exit 1; }
  compiler=$("$python" -c 'import json, sys
command = next(c["command"] for c in json.load(open(sys.argv[1])) if "/reprobench_%s.dir/" % sys.argv[2] in c["command"])
print(command[command.index("/c++ "):].split(" -o ")[0].replace("/c++", "c++", 1))' "$build/compile_commands.json" "$2")
  link=$(ninja -C "$build" -t commands "$2_test" | grep -o "c++ .* -o bin/$2_test .*" | sed 's/ && :$//')
  if command -v ld.gold >/dev/null; then link+=" -fuse-ld=gold"; fi
  headers=$work/headers.hpp
  rm -f "$headers.gch"
  # What the layer includes compiled once, and a linker that is three times as fast: a change costs what is in its own file.
  {
    grep -hE '^#include <' "$1"/*.cpp "$1"/*.hpp | sort -u
    { grep -L 'ci/catch.hpp' "$1"/*.hpp || true; } | sed 's/.*/#include "&"/'
  } >"$headers"
  export compiler headers work samples
  local start=$SECONDS
  run_tests 600 "$build/bin/$2_test" || { tail -n 30 "$work/test.log" >&2; echo "mutate: $2_test fails without any change" >&2; exit 1; }
  limit=$(((SECONDS - start + 1) * 10))
  prepared=$1
}

rows=()
mapfile -t sources < <(for name in "$@"; do sources_of "$name"; done)
for source in "${sources[@]}"; do
  folder=$(cut -d/ -f1-2 <<<"$source")
  case "$source" in matrix/* | suites/*) ;; *) folder=${folder%%/*} ;; esac
  prepare "$folder" "${folder##*/}"
  export source
  candidates "$source" >"$work/candidates"
  # shellcheck disable=SC2086 # the prefix may have arguments
  ${CCACHE_PREFIX:-} bash -c objects <"$work/candidates" >"$work/objects"
  noticed=0 unnoticed=0 invalid=0
  while read -r mutant; do
    case "$mutant" in same*) read -r _ same _ invalid_objects <<<"$mutant" && continue ;; esac
    program=$work/changed_test
    if ! (cd "$build" && eval "${link/-o bin\/${folder##*/}_test/-Wl,--allow-multiple-definition $mutant.o -o $program}") >"$work/link.log" 2>&1; then
      invalid=$((invalid + 1))
    elif ! run_tests "$limit" "$program"; then
      noticed=$((noticed + 1))
      if [ "$only_survivors" = yes ]; then rm "$mutant"; fi
    else
      unnoticed=$((unnoticed + 1))
      if [ "$only_survivors" = no ]; then mkdir -p "$survivors/$source" && cp "$mutant" "$survivors/$source/"; fi
      { echo "$source $(basename "$mutant")"; diff "$source" "$mutant" || true; }
    fi
    rm -f "$mutant.o"
  done <"$work/objects"
  rows+=("| $source | $((noticed + unnoticed)) | $noticed | $unnoticed | $same | $((invalid + invalid_objects)) |")
  echo "${rows[-1]}"
done

echo
echo "| file | changes tried | noticed | not noticed | same object | no object |"
echo "| --- | --- | --- | --- | --- | --- |"
printf '%s\n' "${rows[@]}"
