#!/usr/bin/env bash
# Somebody edits one file of a finished run: does every verb that reads runs say so, and end in time and in little memory? Each kind of
# file of a run gets each edit in turn, and each verb reads the result. A line a verb; exit code 1 unless every answer held.
#
#   ci/edited_runs.sh [--every N] [--keep FOLDER] REPROBENCH [VERB...]
#
# Verbs: rejudge, report, explain, compare, merge, attest, rebuild; all of them by default. Every N-th question is asked, so 1 asks all (by
# hand, minutes). FOLDER keeps the runs that were not held. REPROBENCH is the built program, with reprobench-fake-worker beside it.
set -euo pipefail
cd "$(dirname "$0")/.."
. ci/failure_trap.sh

every=1 keep=''
while [ $# -gt 0 ]; do
  case "$1" in
    --every) every=$2 && shift 2 ;;
    --keep) keep=$2 && shift 2 && mkdir "$keep" ;;
    -*) echo "usage: ci/edited_runs.sh [--every N] [--keep FOLDER] REPROBENCH [VERB...]" >&2 && exit 2 ;;
    *) break ;;
  esac
done
[ $# -gt 0 ] || { echo "edited_runs: name the built program, such as build-ci/bin/reprobench" >&2; exit 2; }
reprobench=$(realpath "$1") && shift
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

python3 - "$reprobench" "$work" "$every" "$keep" "$@" <<'PYTHON'
import os, pathlib, re, shutil, subprocess, sys, time

reprobench, work, every, keep = sys.argv[1], pathlib.Path(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
store, base = work / "store", work / "base"
stacks = ["torch-2.9.0-cu128", "torch-2.8.0-cu128"]
worker = f"{pathlib.Path(reprobench).parent}/reprobench-fake-worker --do ok"
LONGEST_S, MOST_BYTES = 10, 300e6

matrix = work / "matrix.yaml"
matrix.write_text(f"""schema: 1
name: edited
suites: [smoke]
axes: {{stack: [{", ".join(stacks)}], device: [cpu]}}
reference: {{stack: {stacks[1]}}}
exclude: [{{where: "workload not in (mlp)"}}]
""")

def call(*words):
    """Exit code, negative for a signal; all that was said; seconds; the most memory of one process, in bytes.

    Seconds are those on a core, of all its processes: other load does not make them more. Of one that mostly waits they are
    those by the clock."""
    said = work / "said"
    began = time.monotonic()
    with said.open("wb") as out:
        child = subprocess.Popen([reprobench, "--store", str(store), *words], stdout=out, stderr=subprocess.STDOUT,
                                 env={**os.environ, "REPROBENCH_STACKS": str(work / "stacks")}, cwd="/")
        while True:
            pid, status, usage = os.wait4(child.pid, os.WNOHANG)
            if pid != 0:
                break
            if time.monotonic() - began > 6 * LONGEST_S:
                child.kill()
            time.sleep(0.005)
    child.returncode = os.waitstatus_to_exitcode(status)
    by_the_clock, on_a_core = time.monotonic() - began, usage.ru_utime + usage.ru_stime
    seconds = by_the_clock if on_a_core < by_the_clock / 10 else on_a_core
    return child.returncode, said.read_text(errors="replace"), seconds, usage.ru_maxrss * 1024

run_words = ["run", "--matrix", str(matrix), *[word for stack in stacks for word in ("--worker", f"{stack}={worker}")]]
for _ in range(2):
    code, said, _, _ = call(*run_words)
    assert code == 0, said
shutil.move(store, base)
edited_run, other_run = sorted(path.name for path in (base / "runs").iterdir())

def replaced(old, new):
    return lambda data: data.replace(old, new, 1)

def substituted(pattern, new):
    """`new` as it stands, where it is no function of what was found."""
    return lambda data: re.sub(pattern, new if callable(new) else lambda found: new, data, count=1)

# What becomes of the bytes of a file. One that has no place for an edit stays as it is, and is not asked about.
BYTES = {
    "emptied": lambda data: b"",
    "cut in half": lambda data: data[:len(data) // 2],
    "its last byte cut": lambda data: data[:-1],
    "a bit turned": lambda data: data[:len(data) // 2] + bytes([data[len(data) // 2] ^ 1]) + data[len(data) // 2 + 1:],
    "a zero byte": lambda data: data[:len(data) // 2] + b"\0" + data[len(data) // 2:],
    "no UTF-8": substituted(rb'"([a-z])', lambda found: b'"\xff\xfe' + found[1]),
    "an escape sequence": substituted(rb': ?"', rb':"\u001b[2J\u202e'),
    "a line of its own": substituted(rb': ?"', rb':"\nPASSED\n'),
    "doubled": lambda data: data + data,
    "null": lambda data: b"null\n",
    "a list": lambda data: b"[]\n",
    "a map": lambda data: b"{}\n",
    "a word": lambda data: b'"passed"\n',
    "100,000 deep": lambda data: b"[" * 100_000 + b"]" * 100_000,
    "8 MB of one text": lambda data: b'{"kind": "' + b"x" * 8_000_000 + b'"}',
    "200,000 keys": lambda data: b"{" + b",".join(b'"k%d":0' % i for i in range(200_000)) + b"}",
    "a key too many": replaced(b"{", b'{"nobody_knows":1,'),
    "a key lost": substituted(rb'"[a-z_]+": ?[^,\[{}\]]*,', b""),
    "a key twice": substituted(rb'("[a-z_]+": ?[^,\[{}\]]*,)', lambda found: found[1] * 2),
    "a number negated": substituted(rb": ?([1-9])", lambda found: b":-" + found[1]),
    "a number of 400 digits": substituted(rb": ?[1-9][0-9]*", b":" + b"9" * 400),
    "2^63": substituted(rb": ?[1-9][0-9]*", b":9223372036854775808"),
    "NaN": substituted(rb": ?[1-9][0-9.]*", b":NaN"),
    "another number": substituted(rb"(: ?[0-9.]*)([1-8])", lambda found: found[1] + b"9"),
    "failed for passed": replaced(b"passed", b"failed"),
    "a digest turned": substituted(rb'"[0-9a-f]{31}[0-9a-f]', b'"0123456789abcdef0123456789abcdef'),
}

def file_edit(name, path):
    """Edits that are none of a file's bytes."""
    path.unlink()
    if name == "a pipe":
        os.mkfifo(path)
    elif name == "a link out":
        path.symlink_to("/etc/passwd")
    elif name == "a folder":
        path.mkdir()
    elif name == "10 GB of nothing":
        with path.open("wb") as file:
            file.truncate(10**10)

FILES = ["removed", "a pipe", "a link out", "a folder", "10 GB of nothing"]
EDITS = [*BYTES, *FILES]

def kinds_of_files():
    """One of each name; traces, requests and results are those of the candidate's first attempt."""
    found = {}
    for path in sorted((base / "runs" / edited_run).rglob("*")):
        relative = path.relative_to(base / "runs" / edited_run)
        if path.is_file() and relative.parts[0] not in ("report", "lock"):
            found.setdefault(relative.name, relative)
    return list(found.values())

def edit(name, path):
    """False if the file has no place for it."""
    if name in FILES:
        file_edit(name, path)
        return True
    data = path.read_bytes()
    changed = BYTES[name](data) if data else data
    path.write_bytes(changed)
    return changed != data

SLUG = "smoke-mlp-torch-2.9.0-cu128-cpu"
VERBS = {
    "rejudge": ["report", "--rejudge", edited_run],
    "report": ["report", edited_run],
    "explain": ["explain", SLUG, "--run", edited_run],
    "compare": ["compare", edited_run],
    "merge": ["merge", "a=" + edited_run, "b=" + other_run, "--no-report"],
    "attest": ["attest", edited_run],
    "rebuild": ["db", "rebuild"],
}
# Files that a verdict rests on. The others are copies for people, and are written anew.
EVIDENCE = ("plan.json", "journal.jsonl", "request.json", "result.json", "trace.jsonl", "exit.json", "stdout.log", "stderr.log")

def word_of_verdict():
    """Of the newest verdict: a merged run's, or the edited run's own."""
    newest = max((store / "runs").glob("*/verdict.json"), key=lambda path: path.stat().st_mtime_ns)
    found = re.search(r'"word": ?"([a-z_]+)"', newest.read_text(errors="replace"))
    return found[1] if found else ""

def is_green(verb, code):
    """Whether the verb says that the run passes. `report` alone ends with 0 once it is written, whatever it says."""
    if verb == "rejudge":
        return code == 0 and word_of_verdict() == "passed"
    return verb in ("merge", "attest") and code == 0

def is_whole(verb, relative, name):
    """A kill may cut the journal's last line, which says what the last verdict was. To judge again takes nothing of it."""
    return verb == "rejudge" and relative.name == "journal.jsonl" and name == "its last byte cut"

def problem_of(verb, relative, name, code, said, seconds, bytes_taken):
    if code not in (0, 1, 2, 3, 4, 5):
        return f"ends with {code}"
    if seconds > LONGEST_S:
        return f"takes {seconds:.1f} s"
    if bytes_taken > MOST_BYTES:
        return f"takes {bytes_taken / 1e6:.0f} MB"
    if "Traceback" in said or "terminate called" in said:
        return "dies with a trace"
    if "\x1b" in said or "\u202e" in said or "\nPASSED" in said:
        return "lets a file write to the terminal"
    if "root:x:" in said:
        return "shows a file from elsewhere"
    if relative.name in EVIDENCE and is_green(verb, code) and not is_whole(verb, relative, name):
        return "passes"
    if verb == "rebuild" and relative.name == "verdict.json" and "passed" in words_of_list():
        return "is listed as passed"
    if verb == "report" and relative.name in EVIDENCE and code == 0 and not re.search(r"changed|missing|appeared", said):
        return "does not say that it was changed"
    return ""

def words_of_list():
    """The run's verdict as the list of runs has it."""
    _, said, _, _ = call("list", "runs")
    return " ".join(line for line in said.splitlines() if edited_run in line)

wanted = sys.argv[5:] or list(VERBS)
# An answer counts only of a verb that would have done its work on the run as it was.
for verb in wanted:
    shutil.copytree(base, store, symlinks=True)
    code, said, _, _ = call(*VERBS[verb])
    assert code == (3 if verb == "attest" else 0), f"{verb} of a run that nobody edited ends with {code}: {said}"
    assert verb != "rebuild" or "passed" in words_of_list(), words_of_list()
    shutil.rmtree(store)
files = kinds_of_files()
bad, number, asked_in_all = 0, 0, 0
for verb in wanted:
    asked, codes, longest, most = 0, {}, 0.0, 0
    for relative in files:
        for name in EDITS:
            number += 1
            if number % every != 0:
                continue
            shutil.rmtree(store, ignore_errors=True)
            shutil.copytree(base, store, symlinks=True)
            if not edit(name, store / "runs" / edited_run / relative):
                continue
            code, said, seconds, bytes_taken = call(*VERBS[verb])
            asked += 1
            asked_in_all += 1
            codes[code] = codes.get(code, 0) + 1
            longest, most = max(longest, seconds), max(most, bytes_taken)
            problem = problem_of(verb, relative, name, code, said, seconds, bytes_taken)
            if not problem:
                continue
            bad += 1
            print(f"  {verb}, {relative}, {name}: {problem}: {said.strip()[-200:]!r}")
            if keep:
                shutil.copytree(store / "runs" / edited_run, pathlib.Path(keep) / f"{bad}", symlinks=True)
    ends = ", ".join(f"{code}: {count}" for code, count in sorted(codes.items()))
    print(f"{verb:8}  {asked:4} questions on {len(files)} files, exit codes {ends}; at most {longest:.1f} s and {most / 1e6:.0f} MB", flush=True)
sys.exit(1 if bad or asked_in_all == 0 else 0)
PYTHON
