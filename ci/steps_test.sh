#!/usr/bin/env bash
# Whether failures of ci/test.sh can be read: eleven steps that fail in eleven ways, beside some that pass, and for each its reason must
# stand in the last 30 lines; what it said must be kept, chatter of libraries must be out of sight.
#
#   ci/steps_test.sh BUILD        of which Catch2's main is taken
set -euo pipefail
cd "$(dirname "$0")/.."
. ci/failure_trap.sh

build=$(realpath "$1")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "steps: $1" >&2; exit 1; }

# The programs and scripts that fail.
mkdir "$work/ctest" "$work/python"
cat >"$work/catch.cpp" <<'CPP'
#include <cstdlib>
#include <iostream>
#include "ci/catch.hpp"
TEST_CASE("the sum of two numbers holds") { CHECK(1 + 1 == 2); }
TEST_CASE("a count is that of its parts") {
  const int parts = 41;
  CHECK(parts + 2 == 42);
  CHECK(parts == 0);
  for (int i = 0; std::getenv("CHATTER") && i < 300; ++i) {
    std::cout << "[Gloo] Rank 0 is connected to 1 peer ranks. Expected number of connected peer ranks is : 1\n";
  }
}
CPP
echo 'int main() { return undeclared_name; }' >"$work/broken.cpp"
cat >"$work/overflow.cpp" <<'CPP'
int main(int count, char**) {
  int* numbers = new int[4]();
  const int last = numbers[count + 3];
  delete[] numbers;
  return last == 7;
}
CPP
cat >"$work/python/test_sums.py" <<'PY'
import unittest
class Sums(unittest.TestCase):
    def test_of_three(self):
        self.assertEqual(sum([1, 2, 4]), 6)
    def test_of_none(self):
        self.assertEqual(sum([]), 0)
PY
echo 'import json
json.loads("{\"seconds\": }")' >"$work/reader.py"
cat >"$work/silent.sh" <<SH
set -euo pipefail
. ci/failure_trap.sh
measured() {
  local value
  value=\$(printf '%s' 1.329)
  [ "\$value" = 1.328 ]
}
judge() { measured; echo judged; }
judge
SH
catch_main=()
[ ! -e "$build/libreprobench_catch_main.a" ] || catch_main=("$build/libreprobench_catch_main.a")
[ ${#catch_main[@]} -gt 0 ] || catch_main=(-lCatch2Main -lCatch2)
compiler=(c++)
if command -v ccache >/dev/null; then compiler=(ccache c++); fi
"${compiler[@]}" -std=c++20 -O0 -I. -c "$work/catch.cpp" -o "$work/catch.o"
c++ "$work/catch.o" "${catch_main[@]}" -o "$work/catch_program"
c++ -g -fsanitize=address "$work/overflow.cpp" -o "$work/overflow"
cat >"$work/ctest/CTestTestfile.cmake" <<CMAKE
add_test(planted "$work/catch_program")
set_tests_properties(planted PROPERTIES ENVIRONMENT CHATTER=1)
add_test(passing "$work/catch_program" "the sum of two numbers holds")
CMAKE

# steps COMMAND...: in a shell of its own, as ci/test.sh has them.
cat >"$work/steps.sh" <<'SH'
set -euo pipefail
. ci/failure_trap.sh
. ci/steps.sh
work=$1
begin_steps "$work/logs"
early "early" sleep 0.1
step "passes" echo fine
if [ "$2" = red ]; then
  python() { PYTHONDONTWRITEBYTECODE=1 "$step_python" "$@"; }
  in_ctest() { counted_ctest --test-dir "$work/ctest"; }
  chatting() { for i in {1..50}; do echo "[W1124 10:00:00.1 NNPACK.cpp:64] Could not initialize NNPACK! Reason: Unsupported hardware. $i"; done; return 3; }
  beside "catch" "$work/catch_program"
  beside "unittest" python -m unittest discover -s "$work/python"
  beside "compile" c++ -c "$work/broken.cpp" -o "$work/broken.o"
  together
  step "silent script" bash "$work/silent.sh"
  step "killed" bash -c 'kill -9 $$'
  beside "in ctest" in_ctest
  beside "sanitizer" "$work/overflow"
  together
  step "traceback" python "$work/reader.py"
  step "time limit" timeout 0.2 sleep 9
  step "says nothing" chatting
  no_room() { mkdir "$step_log.end"; }
  step "no room for its end" no_room
fi
arrived "early"
end_steps || builtin exit 1
SH

bash "$work/steps.sh" "$work" green >"$work/green" 2>&1 || { cat "$work/green" >&2; fail "steps that pass are red"; }
[ "$(tail -n 1 "$work/green")" = "2 passed, 0 failed, 0 skipped" ] || fail "two steps that pass are: $(tail -n 1 "$work/green")"
if grep -q failed: "$work/green"; then fail "steps that pass have a reason to fail"; fi

status=0
bash "$work/steps.sh" "$work" red >"$work/red" 2>&1 || status=$?
wrong=0
expect() { # TEXT: in the last 30 lines
  tail -n 30 "$work/red" | grep -qF -- "$1" || { echo "steps: the last 30 lines do not say: $1" >&2; wrong=1; }
}
[ "$status" -eq 1 ] || fail "eleven failed steps end with $status"
# Catch2 twice and unittest once have one case that passes and one that fails; one more passes in ctest, which shows nothing of it;
# eight steps have no runner; two pass.
[ "$(tail -n 1 "$work/red")" = "6 passed, 11 failed, 0 skipped" ] || fail "the last line is: $(tail -n 1 "$work/red")"
expect "failed: catch: status 2: $work/catch.cpp:7: CHECK( parts + 2 == 42 ) with expansion: 43 == 42"
expect "last line: assertions: 3 | 1 passed | 2 failed"
expect "failed: unittest: status 1: $work/python/test_sums.py:4: self.assertEqual(sum([1, 2, 4]), 6): AssertionError: 7 != 6 (FAIL: test_of_three"
expect "last line: FAILED (failures=1)"
expect "failed: compile: status 1: $work/broken.cpp:1:21: error: "
expect "failed: silent script: status 1: $work/silent.sh:6: ended with 1 by \`[ \"\$value\" = 1.328 ]\`, in measured called at $work/silent.sh:8, in judge called at $work/silent.sh:9"
expect "failed: killed: killed by SIGKILL: "
expect "failed: in ctest: status 8: $work/catch.cpp:7: CHECK( parts + 2 == 42 ) with expansion: 43 == 42"
expect "failed: sanitizer: status 1: SUMMARY: AddressSanitizer: heap-buffer-overflow $work/overflow.cpp:3 in main"
expect "failed: traceback: status 1: $work/reader.py:2: json.loads(\"{\\\"seconds\\\": }\"): json.decoder.JSONDecodeError: Expecting value: line 1 column 13 (char 12)"
expect "failed: time limit: a time limit ended it: it said nothing"
expect "failed: says nothing: status 3: it said nothing"
expect "failed: no room for its end: status 1: steps: how this step ended is not on record; "
expect " MB were free, "
if grep -qE 'Gloo|NNPACK' "$work/red"; then fail "chatter of libraries is shown"; fi
[ "$(grep -c '\[Gloo\] Rank 0' "$work/logs/in-ctest.log")" -eq 300 ] || fail "chatter of libraries is not kept in the log"
[ "$wrong" -eq 0 ] || { tail -n 30 "$work/red" >&2; exit 1; }

# What no step above says: read from texts.
reads() { # WANTED TEXT
  local said
  printf '%s\n' "$2" >"$work/text"
  said=$(python3 ci/failure_reason.py "$work/text" 1 --brief)
  [ "${said%%$'\n'*}" = "status 1: $1" ] || fail "of \`$2\` the reason is \`$said\`, not \`$1\`"
}
reads "x.cpp:3:4: runtime error: signed integer overflow" $'started\nx.cpp:3:4: runtime error: signed integer overflow\nmore'
reads "/t/a.cpp:9: SUMMARY: ThreadSanitizer: data race in race()" \
  $'WARNING: ThreadSanitizer: data race (pid=1)\n    #0 0x1 in memcpy (/usr/lib/libtsan.so.2+0x1)\n    #1 0x2 in race() /t/a.cpp:9\nSUMMARY: ThreadSanitizer: data race'
reads "ci/x.sh:4: rm \$a ^-- SC2086 (info): Double quote" $'\nIn ci/x.sh line 4:\nrm $a\n   ^-- SC2086 (info): Double quote\n'
reads "a.o: undefined reference to \`f'" $'[1/2] Linking\na.o: undefined reference to `f\'\ncollect2: error: ld returned 1'
reads "1/2 Test #1: exec ...***Timeout 60.01 sec" $'  1/2 Test #1: exec ...***Timeout 60.01 sec\nThe following tests FAILED:'
reads "ci/x.sh:9: ended with 1 by \`exit 1\`: went on | x: it is \`3\`" \
  $'ci/y.sh:2: ended with 1 by `grep`\nwent on\n\n[Gloo] Rank 0 is connected to 1 peer ranks. Expected number of connected peer ranks is : 1\nx: it is `3`\nci/x.sh:9: ended with 1 by `exit 1`\nci/z.sh:1: ended with 1 by `ci/x.sh`'
reads "a.cpp:5: CHECK( x )" $'a.cpp:5: FAILED:\n  CHECK( x )\n\nci/x.sh:9: ended with 1 by `bin/a_test`'
reads "a.cpp:5: CHECK( x ) with expansion: 1" \
  $'a.cpp:5: FAILED:\n  CHECK( x )\n[Gloo] Rank 0 is connected to 1 peer ranks. Expected number of connected peer ranks is : 1\nwith expansion:\n  1\n\nb.cpp:6: FAILED:\n'

# The trap where a shell leaves by another way than a failed command.
ends() { # WANTED SCRIPT
  printf '. ci/failure_trap.sh\n%s\n' "$2" >"$work/ends.sh"
  bash -eu "$work/ends.sh" >/dev/null 2>"$work/said" || true
  grep -qxF "$work/ends.sh:$1" "$work/said" || fail "of \`$2\` the trap says \`$(cat "$work/said")\`, not \`$1\`"
}
ends "2: ended with 3 by \`exit 3\`, in f called at $work/ends.sh:3" $'f() { exit 3; }\nf'
ends "2: ended with 1 by \`false\`" '( false; true )'
# shellcheck disable=SC2016 # for the other shell
ends "2: ended with 1 by \`false\`" 'x=$(false; echo)'
# shellcheck disable=SC2016
ends "2: ended with 1 by \`x=\$(false; echo)\`" 'x=$(false; echo)'
# shellcheck disable=SC2016
ends "2: ended with 4 by \`exit 4\`" 'x=$(exit 4)'

# Every step has its row in the table of ci/README.md.
rows=$(bash -c '. ci/steps.sh; while read -r name; do [ -n "$(budget_of "$name")" ] || echo "$name"; done' \
  < <(sed -nE 's/^.*\b(step|beside|early) "([^"]+)".*/\2/p' ci/test.sh))
[ -z "$rows" ] || fail "ci/README.md has no budget of $rows"
[ "$(bash -c '. ci/steps.sh; budget_of "no such step"')" = "" ] || fail "a step without a row has a budget"
echo "steps: eleven ways to fail can be read in the last 30 lines"
