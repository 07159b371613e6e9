#!/usr/bin/env bash
# One read or write of a store fails, the first, then the second, until there is none left: does every verb that writes the index
# say so, and is the index whole afterwards? A line a verb and kind of fault; exit code 1 unless every point held.
#
#   ci/fault_sweep.sh [--every N] [--keep FOLDER] REPROBENCH [VERB...]
#
# Verbs: rebuild, run, merge, report; all of them by default. Of the points every N-th is tried, so 1 tries all (by hand, minutes).
# FOLDER keeps the stores that did not hold. REPROBENCH is the built program, with reprobench-fake-worker beside it.
set -euo pipefail
cd "$(dirname "$0")/.."
. ci/failure_trap.sh

every=1 keep=''
while [ $# -gt 0 ]; do
  case "$1" in
    --every) every=$2 && shift 2 ;;
    --keep) keep=$2 && shift 2 && mkdir "$keep" ;; # a new one: what an earlier call left is no evidence of this one
    -*) echo "usage: ci/fault_sweep.sh [--every N] [--keep FOLDER] REPROBENCH [VERB...]" >&2 && exit 2 ;;
    *) break ;;
  esac
done
[ $# -gt 0 ] || { echo "fault_sweep: name the built program, such as build-ci/bin/reprobench" >&2; exit 2; }
reprobench=$(realpath "$1") && shift
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
c++ -std=c++20 -O1 -fno-builtin -shared -fPIC ci/fault_points.cpp -o "$work/fault_points.so" -ldl

python3 - "$reprobench" "$work" "$every" "$keep" "$@" <<'PYTHON'
import os, pathlib, shutil, sqlite3, struct, subprocess, sys

reprobench, work, every, keep = sys.argv[1], pathlib.Path(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
verbs = sys.argv[5:] or ["rebuild", "run", "merge", "report"]
store, base, names, count = work / "store", work / "base", work / "names", work / "count"
stacks = ["torch-2.9.0-cu128", "torch-2.8.0-cu128"]
worker = f"{pathlib.Path(reprobench).parent}/reprobench-fake-worker --do ok"

matrix = work / "matrix.yaml"
matrix.write_text(f"""schema: 1
name: faults
suites: [smoke]
axes: {{stack: [{", ".join(stacks)}], device: [cpu]}}
reference: {{stack: {stacks[1]}}}
exclude: [{{where: "workload not in (mlp)"}}]
""")

def call(*words, fault=None, at=0, lasts="once"):
    """The exit code of `reprobench`, negative for a signal, and all that it said."""
    environment = {**os.environ, "REPROBENCH_STACKS": str(work / "stacks")}
    if fault:
        count.write_bytes(bytes(8))
        environment |= {"LD_PRELOAD": str(work / "fault_points.so"), "FAULT_BELOW": str(store), "FAULT_COUNT": str(count),
                        "FAULT_AT": str(at), "FAULT_ERROR": fault, "FAULT_LASTS": lasts, "FAULT_NAMES": str(names)}
    done = subprocess.run([reprobench, "--store", str(store), *words], env=environment, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, errors="replace", timeout=60)
    return done.returncode, done.stdout

run_words = ["run", "--matrix", str(matrix), "--no-report", *[word for stack in stacks for word in ("--worker", f"{stack}={worker}")]]

def rows():
    """What the index says, or None if it cannot be read as a whole."""
    path = store / "index.db"
    if not path.exists():
        return []
    try:
        with sqlite3.connect(path) as db:
            if db.execute("PRAGMA integrity_check").fetchone() != ("ok",):
                return None
            tables = [db.execute(f"SELECT {what} ORDER BY 1, 2").fetchall() for what in (
                "folder, verdict, exit_code, cells FROM runs",
                "folder, slug, outcome FROM cells JOIN runs USING (run_id)",
                "folder, metric || cell_id, status FROM checks JOIN runs USING (run_id)")]
        return tables
    except sqlite3.Error:
        return None

def named(tables):
    """A run that is made anew has another name each time, but always the same cells."""
    old = {str(path) for path in (base / "runs").iterdir()}
    return tables and [[(row[0] if row[0].replace(str(store), str(base)) in old else "new", *row[1:]) for row in table] for table in tables]

def debris():
    wanted = ("index.db", "index.db-wal", "index.db-shm", "index.lock", "runs")
    found = [path for path in store.iterdir() if path.name not in wanted and path.name != "predictions"]
    return [str(path.relative_to(store)) for path in found + [path for path in (store / "runs").rglob("*") if path.name.startswith(".")]]

def prepare():
    """Two finished runs, and an index that lacks the newer, as after a coordinator that was killed."""
    code, said = call(*run_words)
    assert code == 0, said
    shutil.copy(store / "index.db", work / "old.db")
    code, said = call(*run_words)
    assert code == 0, said
    shutil.move(store, base)

def fresh(verb):
    shutil.rmtree(store, ignore_errors=True)
    shutil.copytree(base, store, symlinks=True)
    if verb in ("rebuild", "report"):
        shutil.copy(work / "old.db", store / "index.db")

prepare()
runs = sorted(path.name for path in (base / "runs").iterdir())
commands = {"rebuild": ["db", "rebuild"], "run": run_words, "merge": ["merge", "a=" + runs[0], "b=" + runs[1], "--no-report"],
            "report": ["report", "--rejudge", runs[1]]}

def judge(verb, code, said, before, after):
    """What is wrong with how a command ended, or nothing."""
    now = named(rows())
    if code not in (0, 1, 3, 5):
        return f"ends with {code}"
    if code == 0 and now != after:
        return "ends with 0 and not all of it in the index"
    if code != 0 and not said.strip():
        return "says nothing"
    listed, text = call("db", "list", "--json")
    if now is None or listed != 0:
        return f"leaves a damaged index: {text.strip()}"
    rebuilt, text = call("db", "rebuild")
    if rebuilt != 0:
        return f"leaves a store that is not rebuilt: {text.strip()}"
    # The new index is what the files say, of a run that did not pass because of the fault too. A run that cannot be read is left
    # out of it by name.
    new = named(rows())
    left_out = [str(path) for path in (store / "runs").iterdir() if code == 5 and "not in the index" in said and path.name in said]
    if code == 0 and now != new:
        return "ends with 0 and another verdict in the index than in the run"
    if now != before and now != [[row for row in table if row[0] not in left_out] for table in new]:
        return "leaves an index that is neither the old nor the new one"
    if debris():
        return f"leaves {debris()} after the next rebuild"
    return ""

wrong_in_all = 0
for verb in verbs:
    fresh(verb)
    before = named(rows())
    code, said = call(*commands[verb])
    assert code == 0, said
    after = named(rows())
    for fault, lasts in (("EIO", "once"), ("EIO", "on"), ("ENOSPC", "once"), ("ENOSPC", "on")):
        fresh(verb)
        call(*commands[verb], fault=fault)
        points = struct.unpack("Q", count.read_bytes())[0]
        wrong = tried = passed = 0
        for at in range(1, points + 1, every):
            fresh(verb)
            names.unlink(missing_ok=True)
            try:
                code, said = call(*commands[verb], fault=fault, at=at, lasts=lasts)
                problem = judge(verb, code, said, before, after)
            except subprocess.TimeoutExpired:
                code, said, problem = -1, "", "does not end"
            tried += 1
            passed += code == 0
            if problem:
                wrong += 1
                where = names.read_text().splitlines()[0].replace(str(store), "") if names.exists() else "-"
                print(f"  {verb} {fault} {lasts}, point {at} ({where}): {problem}; it said: {' | '.join(said.strip().splitlines()[-2:])}")
                if keep:
                    shutil.copytree(store, pathlib.Path(keep) / f"{verb}-{fault}-{lasts}-{at}", symlinks=True, dirs_exist_ok=True)
        wrong_in_all += wrong
        print(f"{verb:8} {fault:7} {lasts:4}: {tried} of {points} points tried, {passed} ended with 0 and all written, {wrong} wrong", flush=True)
sys.exit(wrong_in_all > 0)
PYTHON
