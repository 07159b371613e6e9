#!/usr/bin/env bash
# What ci/examples/README.md says of adding a model, data set, knob, metric, probe, fault, compat rule and stack is true: one of each, from
# ci/examples, goes into a copy of the tree, which is built and run on one installed stack.
#
#   ci/examples_test.sh [STACK]
#   ci/examples_test.sh --rows     only whether each row still finds its place, in a second (ci/lint.sh)
# $REPROBENCH_STACKS has that stack installed; it is left as it is.
set -euo pipefail
cd "$(dirname "$0")/.."
. ci/failure_trap.sh

stack=${1:-torch-2.9.0-cu128}
stacks=${REPROBENCH_STACKS:-$PWD/.reprobench/stacks}
python=$(command -v /usr/bin/python3 || command -v python3)
work=$PWD/build-ci/examples
[ "${1:-}" != --rows ] || work=$PWD/build-ci/example-rows
tree=$work/tree

fail() { echo "examples: $1" >&2; exit 1; }
expect() { # WHAT EXPECTED ACTUAL
  [ "$2" = "$3" ] || fail "$1 is \`$3\`, expected \`$2\`"
}

# Puts the lines of a `rows` file where they say: after or before the one line of a file that begins with a text.
add_rows() {
  "$python" - "$tree" "$1" <<'PYTHON'
import pathlib, re, sys
tree, rows = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]).read_text()
for where, path, anchor, text in re.findall(r"^@ (after|before) ([^:]+): (.*)\n((?:(?!@ ).*\n)*)", rows, re.M):
    lines = (tree / path).read_text().splitlines(keepends=True)
    found = [i for i, line in enumerate(lines) if line.strip().startswith(anchor)]
    if len(found) != 1:
        sys.exit(f"examples: {len(found)} lines of {path} begin with `{anchor}`, expected one")
    lines.insert(found[0] + (where == "after"), text)
    (tree / path).write_text("".join(lines))
PYTHON
}

rm -rf "$tree" "$work/store"
mkdir -p "$tree"
git ls-files -z --cached --others --exclude-standard | tar --null -T - --ignore-failed-read -cf - 2>/dev/null | tar -xf - -C "$tree"
for example in ci/examples/*/; do
  (cd "$example" && find . -type f ! -name rows -print0 | tar --null -T - -cf -) | tar -xf - -C "$tree"
  if [ -f "$example/rows" ]; then add_rows "$example/rows"; fi
done
if [ "${1:-}" = --rows ]; then rm -rf "$tree"; exit 0; fi

# The copy is compiled as ci/test.sh compiles the tree itself, so what does not differ comes from the compiler's cache.
export CCACHE_BASEDIR=$tree
(cd "$tree" && cmake --preset ci -B build -DREPROBENCH_BUILD_TESTS=OFF >/dev/null)
cmake --build "$tree/build" --target reprobench reprobench-shepherd
unset CCACHE_BASEDIR

# The stack as it is installed, beside which the copy's own worker is built.
mapfile -t folders < <(find "$stacks" -maxdepth 1 -type d -name "$stack-*")
[ "${#folders[@]}" -gt 0 ] || fail "$stack is not installed in $stacks"
rm -rf "$work/stacks"
mkdir -p "$work/stacks"
cp -al "${folders[@]}" "$work/stacks/" 2>/dev/null || cp -a "${folders[@]}" "$work/stacks/"
export REPROBENCH_STACKS=$work/stacks
reprobench() { "$tree/build/bin/reprobench" --store "$work/store" "$@"; }
reprobench stack install "$stack"

# It knows them by name.
for entry in "workload pairs" "knob example_level" "metric numerics.example_first_loss" "probe example" "stack example-torch"; do
  # shellcheck disable=SC2086
  reprobench describe $entry >/dev/null || fail "\`describe $entry\` does not know it"
done
reprobench stack list | grep -q example-torch || fail "\`stack list\` does not show example-torch"

cat >"$work/matrix.yaml" <<YAML
schema: 1
name: examples
suites: [example, example_probe]
axes:
  stack: [$stack]
  device: [cpu]
  example_level: [low, high]
YAML
verdict() { "$python" -c 'import json, sys; print(eval(sys.argv[2], {"v": json.load(open(sys.argv[1]))}))' "$work/$1/verdict.json" "$2"; }
rm -rf "$work/clean" "$work/planted"

reprobench run --matrix "$work/matrix.yaml" --out "$work/clean" --no-report
expect "the verdict" passed "$(verdict clean 'v["word"]')"
expect "cells that passed" 4 "$(verdict clean 'v["totals"]["passed"]')"
expect "cells the rule skips" "['example-level']" "$(verdict clean 'sorted({c["reason"] for c in v["cells"] if c["outcome"] == "skipped"})')"
expect "checks of the metric" "{'passed'}" \
  "$(verdict clean '{k["status"] for c in v["cells"] for k in c["checks"] if k["metric"] == "numerics.example_first_loss"}')"

status=0
reprobench run --matrix "$work/matrix.yaml" --out "$work/planted" --no-report \
  --inject "kind=example_zero,step=7,tensor=image.weight,element=5,repeat=1,suite=example" || status=$?
expect "the exit code with a planted fault" 1 "$status"
divergence='{(k["divergence"]["step"], k["divergence"]["tensor"]) for c in v["cells"] for k in c["checks"] if k["status"] == "failed" and k["divergence"]}'
expect "where the fault was found" "{(7, 'image.weight')}" "$(verdict planted "$divergence")"

echo "examples: a model, a data set, a knob, a metric, a probe, a fault, a compat rule and a stack were added, built and run"
