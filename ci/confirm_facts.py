#!/usr/bin/env python3
"""Compares the rows of wheels in matrix/facts/compat-facts.json with the METADATA of the wheels of torch,
torchvision and torchaudio.

    ci/confirm_facts.py [VERSION...] [--keep FOLDER]      asks pip's own index, for every release or for those named,
                                                          such as 2.9.0 or torchvision-0.24.0
    ci/confirm_facts.py --reports FOLDER                  reads what --keep left there, and asks nothing

pip reads the METADATA alone, no wheel is downloaded. The index has one wheel a release, so rows of other CUDA variants stay
unconfirmed, and the table says so. Prints the table; ends with 1 where METADATA contradicts a row, with 3 where a release could not
be read or nothing was compared.
"""
import argparse
import concurrent.futures
import json
import pathlib
import re
import subprocess
import sys
import tempfile

FACTS = pathlib.Path(__file__).parent.parent / "matrix" / "facts" / "compat-facts.json"
PYTHONS = ("3.11", "3.12", "3.10")  # the first that a release has a wheel for
PLATFORMS = ("manylinux_2_28_x86_64", "manylinux2014_x86_64", "manylinux1_x86_64", "linux_x86_64")
OLD_TAGS = {"manylinux2014": "2.17", "manylinux2010": "2.12", "manylinux1": "2.5"}


def offered(package):
    """Releases that pip offers, oldest first."""
    said = subprocess.run([sys.executable, "-m", "pip", "index", "versions", package], capture_output=True, text=True)
    found = re.search(r"Available versions: (.*)", said.stdout)
    return found.group(1).split(", ")[::-1] if found else []


def package_of(name):
    """`torchvision-0.24.0` is a package and its version, `2.9.0` one of torch."""
    package, _, version = name.rpartition("-")
    return package or "torch", version


def asked(name):
    """pip's report of one wheel without its dependencies; None where no Python of PYTHONS has one."""
    package, version = package_of(name)
    for python in PYTHONS:
        with tempfile.TemporaryDirectory() as nowhere:
            command = [sys.executable, "-m", "pip", "install", "--dry-run", "--no-deps", "--ignore-installed", "--quiet",
                       "--only-binary=:all:", "--python-version", python, "--target", nowhere, "--report", "-"]
            command += [f"--platform={platform}" for platform in PLATFORMS] + [f"{package}=={version}"]
            said = subprocess.run(command, capture_output=True, text=True)
        if said.returncode == 0:
            return json.loads(said.stdout)
    return None


def pins(requires):
    """Of `nvidia-cudnn-cu12==9.10.2.21; platform_system == "Linux"` the name without its CUDA and the version."""
    found = {}
    for line in requires:
        pin = re.match(r"([\w-]+?)(?:-cu\d+)?(?:\[[^]]*\])?\s*\(?==\s*([\d.]+)", line)
        if pin:
            found[pin.group(1)] = pin.group(2)
    return found


def metadata_of(report):
    """What a wheel says of itself, by the keys of a row."""
    item = report["install"][0]
    metadata = item["metadata"]
    pinned = pins(metadata.get("requires_dist", []))
    toolkit = pinned.get("cuda-toolkit")
    runtime = pinned.get("nvidia-cuda-runtime")
    classified = [re.search(r"Python :: (3\.\d+)$", line) for line in metadata.get("classifier", [])]
    minors = sorted(int(match.group(1)[2:]) for match in classified if match)
    floor = re.search(r">=\s*(\d+\.\d+)", metadata.get("requires_python", ""))
    file_name = item["download_info"]["url"].rsplit("/", 1)[-1]
    tags = re.findall(r"manylinux_(\d+)_(\d+)_x86_64|(manylinux\d+)_x86_64", file_name)
    glibc = [f"{major}.{minor}" if major else OLD_TAGS.get(old) for major, minor, old in tags]
    return {
        "version": metadata["version"],
        # A runtime's package has its own third number, 12.8.90 of the toolkit 12.8.1.
        "cuda_toolkit": toolkit or (".".join(runtime.split(".")[:2]) if runtime else None),
        "cudnn": pinned.get("nvidia-cudnn"),
        "nccl": pinned.get("nvidia-nccl"),
        "python": (floor.group(1) if floor else None, f"3.{minors[-1]}" if minors else None),
        "glibc_min": next(iter(glibc), None),
    }


def numbers(text):
    return [int(part) for part in re.findall(r"\d+", text)]


def python_verdict(stated, floor, last):
    """Requires-Python allows what no wheel is built for, and classifiers have been forgotten: only more is a contradiction."""
    low, high = re.match(r"(\d+\.\d+)-(\d+\.\d+)", stated).groups()
    experimental = re.search(r"\((\d+\.\d+) exp\)", stated)
    if floor is None:
        return "not in METADATA"
    most = numbers(experimental.group(1) if experimental else high)
    if numbers(floor) > numbers(low) or (last and numbers(last) > most):
        return "CONTRADICTED"
    if numbers(floor) < numbers(low):
        return "METADATA is looser"
    return "confirmed" if last and numbers(last) >= numbers(high) else "lower bound confirmed"


def verdict(field, stated, said):
    if field == "python":
        if stated is None:
            return "not in the facts"
        return python_verdict(stated, *said)
    if said is None:
        return "not in METADATA"
    if stated is None:
        return "not in the facts"
    if field == "glibc_min":  # an old tag promises more hosts than the libraries run on
        if numbers(said) == numbers(stated):
            return "confirmed"
        return "CONTRADICTED" if numbers(said) > numbers(stated) else "tag is weaker"
    length = min(len(numbers(said)), len(numbers(stated)))
    return "confirmed" if numbers(said)[:length] == numbers(stated)[:length] else "CONTRADICTED"


def shown(value):
    if isinstance(value, tuple):
        return f"{value[0] or '?'}-{value[1] or '?'}"
    return value or "-"


def compared(rows, said):
    """Table rows of one release: (row, field, facts, METADATA, verdict)."""
    line = ".".join(said["version"].split(".")[:2])
    if said["cuda_toolkit"] is None:
        # Before 2.0 a wheel named its libraries by CUDA major alone, or carried them.
        return [(said["version"], "variant", "-", "-", "names no CUDA")]
    variant = "cu" + "".join(said["cuda_toolkit"].split(".")[:2])
    name = f"{said['version']}+{variant}"
    row = next((row for row in rows if row["torch"] == line and row["variant"] == variant), None)
    if row is None:
        known = " ".join(row["variant"] for row in rows if row["torch"] == line)
        return [(name, "variant", known or "-", variant, "CONTRADICTED" if known else "not in the facts")]
    return [(name, field, shown(row[field]), shown(said[field]), verdict(field, row[field], said[field]))
            for field in ("cuda_toolkit", "cudnn", "nccl", "python", "glibc_min")]


def compared_companion(rows, package, report):
    """Which torch a release of torchvision or torchaudio asks for."""
    metadata = report["install"][0]["metadata"]
    version = metadata["version"]
    row = next((row for row in rows if row["package"] == package), {"torch_of": {}})
    wanted = [re.match(r"torch\s*\(?(==|>=)\s*([\d.]+)", line) for line in metadata.get("requires_dist", [])]
    said = next((match.group(1).replace("==", "") + match.group(2) for match in wanted if match), None)
    stated = row["torch_of"].get(version)
    if said is None or stated is None:
        word = "not in METADATA" if said is None else "not in the facts"
    else:
        word = "confirmed" if said == stated else "CONTRADICTED"
    return [(f"{package} {version}", "torch", shown(stated), shown(said), word)]


def collected(arguments, companions):
    """Reports by release; None where one could not be had."""
    if arguments.reports:
        return {path.stem: json.loads(path.read_text()) for path in sorted(arguments.reports.glob("*.json"))}
    versions = arguments.versions or offered("torch") + [f"{package}-{version}" for package in companions
                                                         for version in offered(package)]
    with concurrent.futures.ThreadPoolExecutor(4) as askers:
        reports = dict(zip(versions, askers.map(asked, versions)))
    if arguments.keep:
        arguments.keep.mkdir(parents=True, exist_ok=True)
        for version, report in reports.items():
            if report:
                (arguments.keep / f"{version}.json").write_text(json.dumps(report))
    return reports


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("versions", nargs="*")
    parser.add_argument("--facts", type=pathlib.Path, default=FACTS)
    parser.add_argument("--keep", type=pathlib.Path)
    parser.add_argument("--reports", type=pathlib.Path)
    arguments = parser.parse_args()
    facts = json.loads(arguments.facts.read_text())
    rows, companions = facts["torch_wheels"], facts["torch_companions"]
    reports = collected(arguments, [row["package"] for row in companions])
    table = []
    for name, report in sorted(reports.items(), key=lambda item: (package_of(item[0])[0], numbers(item[0]))):
        package, _ = package_of(name)
        if not report:
            table += [(name, "-", "-", "-", "NOT READ")]
        else:
            table += compared(rows, metadata_of(report)) if package == "torch" else compared_companion(companions, package, report)
    seen = {name.split("+")[-1] + ":" + ".".join(name.split(".")[:2]) for name, *_ in table if "+" in name}
    unseen = [f"{row['torch']}+{row['variant']}" for row in rows if f"{row['variant']}:{row['torch']}" not in seen]
    print("| wheel | field | facts | METADATA | verdict |\n| --- | --- | --- | --- | --- |")
    for cells in table:
        print("| " + " | ".join(cells) + " |")
    verdicts = [cells[-1] for cells in table]
    print(f"\n{verdicts.count('confirmed')} of {len(table)} confirmed, {verdicts.count('CONTRADICTED')} contradicted, "
          f"{verdicts.count('NOT READ')} not read; not offered: {' '.join(unseen) or 'none'}")
    if "CONTRADICTED" in verdicts:
        return 1
    return 3 if "NOT READ" in verdicts or "confirmed" not in verdicts else 0


if __name__ == "__main__":
    sys.exit(main())
