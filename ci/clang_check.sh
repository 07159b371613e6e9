#!/usr/bin/env bash
# Whether Clang takes the coordinator's sources, which the builds give to GCC: ci/mutate.sh and libFuzzer want Clang. Nothing is
# compiled to code, and what the build compiles as one is read as one.
#
#   ci/clang_check.sh BUILD
set -euo pipefail
cd "$(dirname "$0")/.."
. ci/failure_trap.sh

[ $# -eq 1 ] || { echo "usage: ci/clang_check.sh BUILD" >&2; exit 2; }
command -v clang++ >/dev/null || { echo "clang_check: clang++ is missing; run ci/packages.sh test" >&2; exit 1; }
python3 - "$1/compile_commands.json" <<'PYTHON'
import json, shlex, subprocess, sys

read, failed = 0, 0
for entry in json.load(open(sys.argv[1])):
    words = shlex.split(entry["command"])
    target = words[words.index("-o") + 1]
    if not target.startswith("matrix/") or "_test.dir/" in target or "_bench.dir/" in target or "cmake_pch" in entry["file"]:
        continue
    options = words[next(i for i, word in enumerate(words) if word.endswith("++")) + 1 :]
    # A precompiled header is GCC's; sources include what they use.
    while "-include" in options:
        at = options.index("-include")
        del options[at : at + 2]
    options = [option for option in options if option not in ("-Werror", "-Winvalid-pch")]
    read += 1
    failed += subprocess.run(["clang++", "-w", "-ferror-limit=3", "-fsyntax-only", *options], cwd=entry["directory"]).returncode != 0
if not read:
    sys.exit("clang_check: the build has no sources of matrix/")
if failed:
    sys.exit(f"clang_check: Clang refuses {failed} of {read} files")
print(f"clang_check: Clang takes the sources of matrix/, {read} files as they are compiled")
PYTHON
