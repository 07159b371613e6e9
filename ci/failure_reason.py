"""Why a step of ci/test.sh failed, read from its log: the first failed assertion, and the last line.

    ci/failure_reason.py LOG STATUS [--brief]

Prints the lines around that assertion and the end of the log; with --brief one line with the reason and one with the last
line, if the reason does not hold it already. Chatter of libraries is left out; the log keeps it.
"""

import os
import re
import signal
import sys

LINE_LIMIT = 300  # characters; an expansion may be a page long
BLOCK_LINES = 24
TAIL_LINES = 12

# Taken out of a line: other output may stand in front of it or behind it, since ranks write at the same time.
CHATTER = re.compile(
    r"\[Gloo\]\s*(Rank \d+ is connected to \d+ peer ranks\. Expected number of connected peer ranks is : \d+)?"
    r"|Rank \d+ is connected to \d+ peer ranks\. Expected number of connected peer ranks is : \d+"
    r"|\[[WI]\d*[ \d:.]*\w+\.(?:cpp|h|cc):\d+\].*"  # LibTorch's log: warnings and notes
    r"|OMP: (?:Info|Warning) #\d+:.*|(?:onednn|dnnl)_verbose,.*|MKL_VERBOSE .*"
    r"|\x1b\[[\d;]*[A-Za-z]")


def without_chatter(text):
    for line in text.replace("\r\n", "\n").replace("\r", "\n").split("\n"):
        kept = CHATTER.sub("", line)
        if kept.strip() or not line.strip():
            yield kept.rstrip()


def short(path):
    return path.removeprefix(os.getcwd() + "/")


def in_one_line(lines):
    return " ".join(" ".join(lines).split())


def until_blank(lines, start):
    end = start
    while end < len(lines) and lines[end].strip():
        end += 1
    return lines[start:end]


# Each reader gets the lines, the number of the first and its match, and gives the reason in one line.
def of_catch2(lines, at, found):
    return in_one_line([short(found[1]) + ":"] + until_blank(lines, at + 1))


def of_traceback(lines, at):
    """The last frame that is not the library's."""
    place, code = "", ""
    for number in range(at, len(lines)):
        frame = re.match(r'\s+File "(.+)", line (\d+)', lines[number])
        if frame and (not place or not re.search(r"/usr/lib/|-packages/|<frozen", frame[1])):
            place = f"{short(frame[1])}:{frame[2]}: "
            code = lines[number + 1].strip() if number + 1 < len(lines) else ""
        elif not frame and re.match(r"[A-Za-z_][\w.]*(:|$)", lines[number]) and number > at:
            return place + in_one_line([code + ":"] + until_blank(lines, number)[:4])
    return place + code


def of_unittest(lines, at, found):
    for number in range(at, min(at + 6, len(lines))):
        if lines[number].startswith("Traceback"):
            return f"{of_traceback(lines, number)} ({found[0]})"
    return found[0]


def of_sanitizer(lines, at, found):
    reason = found[0]
    for line in lines[at : at + 400]:
        if line.startswith("SUMMARY: "):
            reason = line
            break
    if not re.search(r"\w:\d+", reason):
        for line in lines[at : at + 400]:
            frame = re.match(r"\s+#\d+ 0x\w+ in (.*) (/\S+:\d+)", line)
            if frame and "sanitizer" not in frame[2]:
                return f"{short(frame[2])}: {reason} in {frame[1]}"
    return reason


def of_shellcheck(lines, at, found):
    return in_one_line([f"{found[1]}:{found[2]}:"] + until_blank(lines, at + 1))


def of_script(lines, at, found):
    """The script's own words stand in front of what the trap says, and the innermost line of a group is the first."""
    before = [line for line in lines[max(at - 8, 0) : at] if line.strip()][-2:]
    return ": ".join([found[0]] + [in_one_line([" | ".join(before)])] * bool(before))


def of_line(lines, at, found):
    return lines[at].strip()


def of_cmake(lines, at, found):
    return in_one_line(lines[at : at + 1] + until_blank(lines, at + 1)[:3])


ASSERTIONS = [
    (re.compile(r"\s*(\S+:\d+): FAILED:"), of_catch2),
    (re.compile(r"(?:FAIL|ERROR): \w+ \(.*\)"), of_unittest),
    (re.compile(r"\S+:\d+:\d+: (?:fatal )?error: "), of_line),
    (re.compile(r".*?(?:ERROR: (?:Address|Leak|Memory)Sanitizer|WARNING: ThreadSanitizer): .*"), of_sanitizer),
    (re.compile(r"\S+:\d+(?::\d+)?: runtime error: "), of_line),
    (re.compile(r"In (\S+\.sh|\.ci/run) line (\d+):"), of_shellcheck),
]
# What may stand in the log of a step for another reason than that it failed.
OTHER_SIGNS = [
    (re.compile(r"Traceback \(most recent call last\):"), lambda lines, at, found: of_traceback(lines, at)),
    (re.compile(r"CMake Error"), of_cmake),
    (re.compile(r".*(?:undefined reference to|multiple definition of|(?:fatal )?error: )"), of_line),
    (re.compile(r"\s*\d+/\d+ Test +#\d+: .*\*\*\*"), of_line),
]
TRAP = re.compile(r"\S+:\d+: ended with \d+ by `.*")  # ci/failure_trap.sh


def first_of(signs, lines):
    for at, line in enumerate(lines):
        for pattern, reader in signs:
            found = pattern.match(line)
            if found:
                return at, reader(lines, at, found)
    return None


def last_trap(lines):
    """The first of the last group: what a script went on after is no reason."""
    at = max((number for number, line in enumerate(lines) if TRAP.match(line)), default=None)
    if at is None:
        return None
    while at > 0 and TRAP.match(lines[at - 1]):
        at -= 1
    return at, of_script(lines, at, TRAP.match(lines[at]))


def words_of(status):
    if status == 124:
        return "a time limit ended it"
    if status > 128:
        try:
            return f"killed by {signal.Signals(status - 128).name}"
        except ValueError:
            pass
    return f"status {status}"


def cut(line):
    return line if len(line) <= LINE_LIMIT else line[: LINE_LIMIT - 3] + "..."


def main():
    log, status, brief = sys.argv[1], int(sys.argv[2]), "--brief" in sys.argv[3:]
    with open(log, "rb") as file:
        lines = list(without_chatter(file.read().decode(errors="replace")))
    spoken = [line.strip() for line in lines if line.strip()]
    last = spoken[-1] if spoken else "it said nothing"
    at, reason = first_of(ASSERTIONS, lines) or last_trap(lines) or first_of(OTHER_SIGNS, lines) or (None, last)
    if brief:
        print(cut(f"{words_of(status)}: {reason}"))
        if last not in reason:
            print(cut(f"last line: {last}"))
        return
    if at is not None:
        block = lines[max(at - 8, 0) : at + BLOCK_LINES]
        print(*map(cut, block), sep="\n")
        rest = lines[at + BLOCK_LINES :]
        if len(rest) > TAIL_LINES:
            print("...")
    else:
        rest = lines
    print(*map(cut, rest[-TAIL_LINES:]), sep="\n")


main()
