#!/usr/bin/env bash
# How much of a layer its own tests pin: one-line changes made by universalmutator over whole files, sampled. Each changed
# file is compiled elsewhere and linked in the place of the layer's library; the tree stays as it is. By hand; a change takes 2
# to 20 s. What it found so far: ci/mutations.md.
#
#   ci/mutate.sh [--samples N] [--seed N] FILE_OR_FOLDER...   15 changes a file; ci/mutate.sh matrix/stats matrix/verdict/check.cpp
#   ci/mutate.sh --survivors FILE_OR_FOLDER...                only those that went unnoticed the last time
#   ci/mutate.sh --build build-ci ...                         with that build instead of an own one
#   ci/mutate.sh --tests '~[slow]' ...                        with those tests alone: what only the others notice counts as unnoticed;
#                                                             a second --tests names those that run second and must fail twice
#
# A change that gives the object file of the unchanged source or of another change, or none, is replaced by another. It is
# noticed if the layer's test program fails, crashes or takes five times as long. Tests that start processes run only for what
# the others did not notice, and must fail twice; the shortest come first, and the first that fails ends the others. For cli
# the changed object is in the built program too, which the tests tagged [e2e] run. Tests run as process 1 of their own
# namespace with everything but /tmp read-only: what a changed line signals or deletes is nobody else's. Needs root. What went
# unnoticed is in build-mutate/survivors, as whole files.
# $CCACHE_PREFIX, where it is set, runs the compilers of one file as one command.
set -euo pipefail
cd "$(dirname "$0")/.."
. ci/failure_trap.sh

samples=15
seed=1
only_survivors=no
selections=('~[.]~[process]~[e2e]' '~[.][process],~[.][e2e]')
chosen=()
build=
while [ $# -gt 0 ]; do
  case "$1" in
    --samples) samples=$2 && shift 2 ;;
    --seed) seed=$2 && shift 2 ;;
    --survivors) only_survivors=yes && shift ;;
    --tests) chosen+=("$2") && shift 2 ;;
    --build) build=$(realpath "$2") && shift 2 ;;
    -*) echo "usage: ci/mutate.sh [--samples N] [--seed N] [--survivors] [--build FOLDER] [--tests SELECTION] FILE_OR_FOLDER..." >&2 && exit 2 ;;
    *) break ;;
  esac
done
[ ${#chosen[@]} -eq 0 ] || selections=("${chosen[@]}")
[ $# -gt 0 ] || { echo "mutate: name at least one file or folder, such as matrix/stats" >&2; exit 2; }

out=$PWD/build-mutate
survivors=$out/survivors
python=$(command -v /usr/bin/python3 || command -v python3)
mkdir -p "$survivors"
work=$(mktemp -d "$out/work-XXXXXX") # of this call: layers may be measured side by side, once they are built
trap 'rm -rf "$work"' EXIT
if ! cmp -s ci/mutate-requirements.txt "$out/python/requirements.txt"; then
  "$python" -m pip install --quiet --root-user-action=ignore --no-deps --require-hashes --upgrade --target "$out/python" -r ci/mutate-requirements.txt
  cp ci/mutate-requirements.txt "$out/python/requirements.txt"
fi

sources_of() { # FILE_OR_FOLDER
  if [ -f "$1" ]; then echo "$1"; else git ls-files "$1/*.cpp" | grep -vE '(_test|_bench|_fuzz|/main)\.cpp$|/shepherd/'; fi
}

# candidates SOURCE: files with a changed SOURCE, in an order that the seed decides.
candidates() {
  local folder=$out/mutants/$1
  if [ "$only_survivors" = yes ]; then
    { find "$survivors/$1" -name '*.cpp' -type f 2>/dev/null || true; } | sort
    return
  fi
  rm -rf "$folder" "${survivors:?}/$1" && mkdir -p "$folder"
  (cd "$work" && PYTHONPATH=$out/python "$python" -c 'from universalmutator.genmutants import main; main()' \
    "$OLDPWD/$1" cpp --noCheck --mutantDir "$folder" >"$work/mutator.log" 2>&1 </dev/null) || { cat "$work/mutator.log" >&2; exit 1; }
  find "$folder" -type f | sort | "$python" -c 'import random, sys
names = sys.stdin.readlines()
random.Random(sys.argv[1]).shuffle(names)
sys.stdout.writelines(names)' "$seed $1"
}

compile() { # SOURCE OBJECT; under the same name for all, since an object file holds it
  local folder=$work/compile-$BASHPID
  mkdir -p "$folder" && cp "$1" "$folder/changed.cpp" && (cd "$folder" && $compiler -c changed.cpp -o "$2" >"$work/compile.log" 2>&1)
}

clean_object() { echo "$work/clean/${1//\//_}.o"; } # SOURCE

clean_objects() { # SOURCE...
  local name
  for name in "$@"; do compile "$name" "$(clean_object "$name")" || { cat "$work/compile.log" >&2; exit 1; }; done
}

# objects: a line CHANGED_FILE for each of the first changes of $source that has an object of its own, which is beside it, and
# a last line `same N invalid N`. One process, so that $CCACHE_PREFIX may run it.
objects() {
  local changed digest same=0 invalid=0
  local -A seen
  digest=$(sha256sum <"$(clean_object "$source")")
  seen[$digest]=yes
  while [ $((${#seen[@]} - 1)) -lt "$samples" ] && read -r changed; do
    if ! compile "$changed" "$changed.o"; then
      grep -q 'since the precompiled header' "$work/compile.log" && { cat "$work/compile.log" >&2; exit 1; }
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
export -f compile clean_object clean_objects objects

# How ninja links bin/PROGRAM, from copies, so that tests may be written and built meanwhile. Without the layer's own library: a
# function that a change has deleted would come from there, and its deletion count as unnoticed.
link_command() { # PROGRAM LAYER
  local command
  command=$(ninja -C "$build" -t commands "$1" | grep -o "c++ .* -o bin/$1 .*" | sed -E "s/ && :$//; s# [^ ]*/libreprobench_$2[.]a##g")
  # shellcheck disable=SC2046 # one word a file
  (cd "$build" && cp --parents $(tr ' ' '\n' <<<"$command" | grep -E '^[^/-].*\.(o|a)$' | sort -u) "$work/link")
  if command -v ld.gold >/dev/null; then command+=" -fuse-ld=gold"; fi
  echo "${command/-o bin\/$1/-Wl,--allow-multiple-definition \$1 -o \$2}"
}

others_than() { # SOURCE...: the unchanged objects of the layer's other sources
  local name
  for name in "${own[@]}"; do [[ " $* " == *" $name "* ]] || clean_object "$name"; done | tr '\n' ' '
}

link_with() { # OBJECTS PROGRAM; the objects come before the layer's own
  (
    cd "$work/link" && rm -f "$2-program" && eval "$link" || exit
    [ -z "$link_program" ] || { set -- "$1" "$2-program" && eval "$link_program"; }
  ) >"$work/link.log" 2>&1
}

parts=4 # of the tests, run side by side: many of them wait for processes

list_tests() { # PROGRAM; into files tests-STAGE-PART, the shortest first if log-* are those of a run
  local names stage
  test_count=0
  cat "$work"/log-* >"$work/durations" 2>/dev/null || true
  rm -f "$work"/tests-* "$work"/log-*
  for stage in "${!selections[@]}"; do
    names=$("$1" --list-test-names-only -# "${selections[stage]}" || true) # the status is their number
    [ -n "$names" ] || continue
    test_count=$((test_count + $(wc -l <<<"$names")))
    "$python" -c 'import collections, re, sys
took_s = collections.Counter()
for line in open(sys.argv[1], errors="replace"):
    if found := re.match(r"([0-9.]+) s: (.*)\n", line): took_s[found[2]] += float(found[1])
# Catch lists a name that begins with # in quotes.
names = [re.sub(r"^\"(#.*)\"$", r"\1", name) for name in sys.stdin.read().splitlines()]
names.sort(key=lambda name: took_s[name])
for name in names: print("\"" + re.sub(r"([\\\",])", r"\\\1", name) + "\"")' "$work/durations" <<<"$names" |
      split --elide-empty-files --number=r/$parts --numeric-suffixes --suffix-length=1 - "$work/tests-$stage-"
  done
}

run_tests() { # LIMIT_S PROGRAM; 124 or 137 if it took too long
  local stage status
  for stage in "${!selections[@]}"; do
    status=0
    run_stage "$stage" "$@" || status=$?
    # What waits for processes may fail on a busy machine: the second word counts.
    if [ $status -ne 0 ] && [ "$stage" -gt 0 ]; then
      status=0
      run_stage "$stage" "$@" || status=$?
    fi
    [ $status -eq 0 ] || return $status
  done
}

run_stage() { # STAGE LIMIT_S PROGRAM
  local list running=() passed=0 status=0
  for list in "$work/tests-$1-"?; do
    [ -e "$list" ] || continue
    # shellcheck disable=SC2016 # expanded by the shell that is told to
    unshare --mount --pid --fork --kill-child --mount-proc timeout --kill-after 5 "$2" bash -c '
      if [ -e "$0-program" ]; then mount --bind "$0-program" "$2"; fi
      case "$3" in /tmp/*) mount --rbind "$3" /mnt ;; esac # a checkout there stays in sight
      while read -r _ target _; do
        case "$target" in /proc* | /dev* | /sys*) ;; *) mount -o remount,bind,ro "$target" 2>/dev/null || true ;; esac
      done </proc/mounts
      exec 9<"$1" && mount -t tmpfs tmpfs /tmp
      case "$3" in /tmp/*) mkdir -p "$3" && mount --move /mnt "$3" ;; esac
      export TMPDIR=/tmp # another folder of temporary files is read-only here
      cd /tmp && exec "$0" --abort --durations yes --input-file /dev/fd/9' "$3" "$list" "$build/bin/reprobench" "$PWD" \
      >"$work/log-${list##*/}" 2>&1 </dev/null &
    running+=($!)
  done
  while [ $passed -lt ${#running[@]} ]; do
    wait -n || { status=$? && break; }
    passed=$((passed + 1))
  done
  [ $status -eq 0 ] || kill "${running[@]}" 2>/dev/null || true
  wait "${running[@]}" 2>/dev/null || true
  return $status
}

prepared=none
prepare() { # FOLDER LAYER
  [ "$prepared" = "$1" ] && return
  # Every file of the layer is compiled by itself, without optimisation, and linked in the place of the layer's library: what the
  # compiler inlined of one file into another of the same unity source is not there. The other layers are optimised.
  if [ -z "$build" ]; then
    build=$out/build
    cmake --preset ci -B "$build" >"$out/cmake.log"
  fi
  ninja -C "$build" "$2_test" >"$work/build.log" 2>&1 || { tail -n 30 "$work/build.log" >&2; exit 1; }
  compiler=$("$python" -c 'import json, sys
command = next(c["command"] for c in json.load(open(sys.argv[1])) if "/reprobench_%s.dir/" % sys.argv[2] in c["command"])
print(command[command.index("/c++ ") + 4:].split(" -o ")[0])' "$build/compile_commands.json" "$2")
  mkdir -p "$work/link"
  ln -sf "$build/bin/reprobench-shepherd" "$build/bin/reprobench-enclosure" "$work/" # beside the test program, as it is in the build
  link=$(link_command "$2_test" "$2")
  link_program=
  if [ "$2" = cli ]; then link_program=$(link_command reprobench cli); fi
  headers=$work/headers.hpp
  # What the layer includes compiled once, and a linker that is three times as fast: a change costs what is in its own file.
  {
    sources_of "$1" | xargs grep -hE '^#include' | sort -u
  } >"$headers"
  # Clang takes half of GCC's time for a file whose templates are in the compiled headers already. Not for cli: of a template
  # that reads a document, instantiated by both compilers, the linker mixes closures that are laid out in two ways.
  if [ "$2" != cli ] && command -v clang++ >/dev/null; then
    compiler="clang++ $compiler -O0 -w -ferror-limit=1"
    $compiler -fpch-instantiate-templates -x c++-header "$headers" -o "$headers.pch"
    compiler+=" -include-pch $headers.pch"
  else
    compiler="c++ $compiler -O0 -w -fmax-errors=1"
    $compiler -x c++-header "$headers" -o "$headers.gch"
    compiler+=" -include $headers"
  fi
  export compiler work samples
  # All sources unchanged, compiled and linked as the changed ones will be, must pass.
  mkdir -p "$work/clean"
  mapfile -t own < <({ sources_of "$1" && printf '%s\n' "${sources[@]}" | grep "^$1/"; } | sort -u)
  # shellcheck disable=SC2086 # the prefix may have arguments
  printf '%s\0' "${own[@]}" | xargs -0 -n 12 -P "$(nproc)" ${CCACHE_PREFIX:-} bash -c 'clean_objects "$@"' _
  link_with "$(others_than)" "$work/clean_test" || { cat "$work/link.log" >&2; exit 1; }
  list_tests "$work/clean_test"
  local start=$SECONDS
  run_tests 600 "$work/clean_test" || { tail -n 30 "$work"/log-* >&2; echo "mutate: $2_test fails without any change" >&2; exit 1; }
  local ran
  ran=$(grep -hoE '[0-9]+ test cases?' "$work"/log-* | awk '{ sum += $1 } END { print sum + 0 }')
  [ "$ran" -eq "$test_count" ] || { echo "mutate: $ran of $test_count tests of $2_test ran" >&2; exit 1; }
  limit=$(((SECONDS - start + 2) * 5))
  list_tests "$work/clean_test"
  prepared=$1
}

rows=()
mapfile -t sources < <(for name in "$@"; do sources_of "$name"; done)
for source in "${sources[@]}"; do
  folder=$(cut -d/ -f1-2 <<<"$source")
  case "$source" in matrix/* | suites/*) ;; *) folder=${folder%%/*} ;; esac
  layer=${folder##*/}
  prepare "$folder" "$layer"
  export source
  candidates "$source" >"$work/candidates"
  # shellcheck disable=SC2086 # the prefix may have arguments
  ${CCACHE_PREFIX:-} bash -c objects <"$work/candidates" >"$work/objects"
  noticed=0 by_time=0 unnoticed=0 invalid=0
  while read -r mutant; do
    case "$mutant" in same*) read -r _ same _ invalid_objects <<<"$mutant" && continue ;; esac
    program=$work/changed_test
    if ! link_with "$mutant.o $(others_than "$source")" "$program"; then
      invalid=$((invalid + 1))
      rm -f "$mutant.o"
      continue
    fi
    status=0
    run_tests "$limit" "$program" || status=$?
    if [ $status -ne 0 ]; then
      noticed=$((noticed + 1))
      if [ $status -eq 124 ] || [ $status -eq 137 ]; then by_time=$((by_time + 1)); fi
      if [ "$only_survivors" = yes ]; then rm "$mutant"; fi
    else
      unnoticed=$((unnoticed + 1))
      if [ "$only_survivors" = no ]; then mkdir -p "$survivors/$source" && cp "$mutant" "$survivors/$source/"; fi
      { echo "$source $(basename "$mutant")"; diff "$source" "$mutant" || true; }
    fi
    rm -f "$mutant.o"
  done <"$work/objects"
  rows+=("| $source | $((noticed + unnoticed)) | $noticed | $by_time | $unnoticed | $same | $((invalid + invalid_objects)) |")
  echo "${rows[-1]}"
done

echo
echo "| file | changes tried | noticed | of these by time | not noticed | same object | no object |"
echo "| --- | --- | --- | --- | --- | --- | --- |"
printf '%s\n' "${rows[@]}"
