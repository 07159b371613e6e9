#!/usr/bin/env bash
# Fetches the wheels of stacks by their locks to where `stack install` looks first, so that the network is waited for while
# something compiles. `stack install` checks each again, and fetches what is missing.
#
#   ci/fetch_wheels.sh STACK[+gpu]...     what a CPU needs of it; with +gpu all
# $REPROBENCH_STACKS has the installed stacks; otherwise they lie in the checkout.
set -euo pipefail
cd "$(dirname "$0")/.."
. ci/failure_trap.sh

[ $# -gt 0 ] || { echo "usage: ci/fetch_wheels.sh STACK[+gpu]..." >&2; exit 2; }
stacks=${REPROBENCH_STACKS:-$PWD/.reprobench/stacks}
python=$(command -v /usr/bin/python3 || command -v python3)
mkdir -p "$stacks/downloads" "$stacks/staging"
work=$(mktemp -d -p "$stacks/staging" fetch-wheels.XXXXXX)
trap 'rm -rf "$work"' EXIT

# fetch LINE PYTHON: one line of a lock, "NAME==VERSION --hash=... # FILE SIZE bytes".
fetch() {
  local file=${1#*# } tags options=() platform
  file=${file%% *}
  [ ! -e "$stacks/downloads/$file" ] || return 0
  IFS=- read -ra tags <<<"${file%.whl}"
  for platform in ${tags[-1]//./ }; do options+=(--platform "$platform"); done
  echo "$1" >"$work/requirement.txt"
  TMPDIR=$work "$python" -m pip download --quiet --require-hashes --no-deps --only-binary=:all: --no-cache-dir --no-input \
    --disable-pip-version-check --implementation cp --python-version "$2" --abi "${tags[-2]}" "${options[@]}" \
    --dest "$work" --requirement "$work/requirement.txt"
  mv "$work/$file" "$stacks/downloads/"
  echo "fetched $file"
}

for stack in "$@"; do
  spec=matrix/stacks/${stack%+gpu}.yaml
  [ -f "$spec" ] || { echo "fetch_wheels: there is no $spec" >&2; exit 2; }
  release=$(sed -nE 's/^ *(wheel:.*)?python: *"([0-9]+\.[0-9]+)".*/\2/p' "$spec")
  [ -n "$release" ] || continue # not made of wheels
  names=$(sed -nE 's/^ *cpu_wheels: \[(.*)\]/\1/p' "$spec")
  pattern="^(${names//, /|})=="
  if [[ $stack == *+gpu ]]; then pattern='^[^#]'; fi
  while read -r line; do fetch "$line" "$release"; done < <(grep -E "$pattern" "${spec%.yaml}.lock")
done
