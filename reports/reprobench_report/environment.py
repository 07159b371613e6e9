"""What differs between two stacks, by three witnesses: declared in its file, compiled into the headers, loaded."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any

# Order in which a reader looks for a suspect; other components follow by name.
_ORDER = ("torch", "cuda", "cublas", "cudnn", "nccl", "blas", "openmp")
_WITNESSES = ("declared", "compiled", "loaded", "path")
_FACTS = (
    "compiler", "cxx11_abi", "cpu_model", "cpu_capability", "threads", "interop_threads", "blas_provider",
    "device_name",
)  # fmt: skip


@dataclass(frozen=True)
class Pair:
    """One value on both sides; an empty text means the side has none."""

    name: str
    reference: str
    other: str

    @property
    def differs(self) -> bool:
        return self.reference != self.other


@dataclass(frozen=True)
class ComponentRow:
    name: str
    witnesses: list[Pair]

    @property
    def differs(self) -> bool:
        return any(pair.differs for pair in self.witnesses)


@dataclass
class Difference:
    """Of `other` against `reference`. `libraries` holds only those that differ: equal ones are many and say little."""

    reference: str
    other: str
    components: list[ComponentRow] = field(default_factory=list)
    settings: list[Pair] = field(default_factory=list)
    libraries: list[Pair] = field(default_factory=list)
    equal_libraries: int = 0
    complete: bool = True  # false: a side has no fingerprint, so only declarations are compared


def _rank(name: str) -> tuple[int, str]:
    return (_ORDER.index(name) if name in _ORDER else len(_ORDER), name)


def _components(environment: dict[str, Any]) -> dict[str, dict[str, str]]:
    found = {name: {"declared": version} for name, version in environment["declared"].items()}
    for component in (environment["fingerprint"] or {}).get("components", []):
        found.setdefault(component["name"], {}).update({key: component[key] for key in ("compiled", "loaded", "path")})
    if torch := environment.get("torch_loaded"):
        found.setdefault("torch", {})["loaded"] = torch
    return found


def component_names(environments: list[dict[str, Any]]) -> list[str]:
    return sorted({name for environment in environments for name in _components(environment)}, key=_rank)


def witnesses(environment: dict[str, Any], component: str) -> dict[str, str]:
    """declared, compiled, loaded and path of a component; empty texts where a witness is silent."""
    found = _components(environment).get(component, {})
    return {witness: found.get(witness, "") for witness in _WITNESSES}


def _settings(environment: dict[str, Any]) -> dict[str, str]:
    fingerprint = environment["fingerprint"]
    if fingerprint is None:
        return {}
    found = {name: str(fingerprint[name]) for name in _FACTS}
    found.update({f"flag {name}": value for name, value in fingerprint["flags"].items()})
    found.update({f"env {name}": value for name, value in fingerprint["environment"].items()})
    return found


def _libraries(environment: dict[str, Any]) -> dict[str, str]:
    mapped = (environment["fingerprint"] or {}).get("libraries", [])
    return {PurePosixPath(library["path"]).name: library["build_id"] or "no build id" for library in mapped}


def _pairs(reference: dict[str, str], other: dict[str, str]) -> list[Pair]:
    names = [*reference, *(name for name in other if name not in reference)]
    return [Pair(name, reference.get(name, ""), other.get(name, "")) for name in names]


def difference(reference: dict[str, Any], other: dict[str, Any]) -> Difference:
    result = Difference(reference["stack"], other["stack"])
    result.complete = reference["fingerprint"] is not None and other["fingerprint"] is not None
    heard = _WITNESSES if result.complete else _WITNESSES[:1]
    for name in component_names([reference, other]):
        mine, theirs = witnesses(reference, name), witnesses(other, name)
        pairs = [Pair(w, mine[w], theirs[w]) if w in heard else Pair(w, "", "") for w in _WITNESSES]
        result.components.append(ComponentRow(name, pairs))
    if result.complete:
        result.settings = _pairs(_settings(reference), _settings(other))
        libraries = _pairs(_libraries(reference), _libraries(other))
        result.libraries = sorted((pair for pair in libraries if pair.differs), key=lambda pair: pair.name)
        result.equal_libraries = len(libraries) - len(result.libraries)
    return result


def differences(environments: list[dict[str, Any]], references: list[str]) -> list[Difference]:
    """Every other stack against the first reference stack; against the first stack where the matrix names none."""
    if not environments:
        return []
    reference = next((e for e in environments if e["stack"] in references), environments[0])
    return [difference(reference, other) for other in environments if other is not reference]
