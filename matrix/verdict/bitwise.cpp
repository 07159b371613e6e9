#include "matrix/verdict/bitwise.hpp"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "matrix/verdict/divergence.hpp"

namespace reprobench {
namespace {

// "NVIDIA H100 PCIe, 114 SMs": how far a reduction is split follows from the number of multiprocessors.
std::string gpu_text(const Fingerprint& fingerprint) {
  if (!fingerprint.device) return fingerprint.device_name;
  return fmt::format("{}, {} SMs", fingerprint.device->name, fingerprint.device->sm_count);
}

std::map<std::string, std::string> loaded_versions(const Fingerprint& fingerprint) {
  std::map<std::string, std::string> versions;
  for (const ComponentVersion& component : fingerprint.components) versions[component.name] = component.loaded;
  return versions;
}

// Without build ids a library counts by its name; where it lies is each host's own.
std::map<std::string, std::string> build_ids(const Fingerprint& fingerprint) {
  std::map<std::string, std::string> ids;
  for (const MappedLibrary& library : fingerprint.libraries) {
    ids[std::filesystem::path(library.path).filename()] = library.build_id;
  }
  return ids;
}

// "cudnn 9.10.2 against 9.13.0" for the first name whose values differ.
std::string first_difference(const char* what, const std::map<std::string, std::string>& measured,
                             const std::map<std::string, std::string>& expected) {
  const auto value = [](const auto& map, const std::string& name) {
    const auto found = map.find(name);
    return found == map.end() || found->second.empty() ? std::string("none") : found->second;
  };
  for (const auto* map : {&measured, &expected}) {
    for (const auto& [name, ignored] : *map) {
      const std::string ours = value(measured, name);
      const std::string theirs = value(expected, name);
      if (ours != theirs) return fmt::format("{}{} {} against {}", what, name, ours, theirs);
    }
  }
  return "";
}

const TensorsRecord* first_step_of(const Trace& trace) {
  return trace.tensors.empty() || trace.tensors.front().is_final ? nullptr : &trace.tensors.front();
}

void count_tensors(const TensorsRecord& ours, const TensorsRecord& theirs, const std::string& against,
                   Measurement& found) {
  const std::size_t count = std::max(ours.tensors.size(), theirs.tensors.size());
  for (std::size_t i = 0; i < count; ++i) {
    const TensorRecord* a = i < ours.tensors.size() ? &ours.tensors[i] : nullptr;
    const TensorRecord* b = i < theirs.tensors.size() ? &theirs.tensors[i] : nullptr;
    if (a != nullptr && b != nullptr && a->name == b->name && a->digest == b->digest) continue;
    const TensorRecord& named = a != nullptr ? *a : *b;
    *found.value += 1;
    if (found.divergence) continue;
    found.divergence = Divergence{ours.step,
                                  named.name,
                                  std::string(to_string(named.role)),
                                  against,
                                  a != nullptr ? a->digest : "",
                                  b != nullptr ? b->digest : ""};
  }
}

std::string fingerprints_differ_in(const Fingerprint& a, const Fingerprint& b) {
  struct Fact {
    const char* what;
    std::string measured;
    std::string expected;
  };
  const Fact facts[] = {{"GPU", gpu_text(a), gpu_text(b)},
                        {"CPU", a.cpu_model, b.cpu_model},
                        {"vector instructions", a.cpu_capability, b.cpu_capability},
                        {"threads", std::to_string(a.threads), std::to_string(b.threads)},
                        {"BLAS", a.blas_provider, b.blas_provider},
                        {"worker compiled by", a.compiler, b.compiler}};
  for (const Fact& fact : facts) {
    if (fact.measured != fact.expected)
      return fmt::format("{} `{}` against `{}`", fact.what, fact.measured, fact.expected);
  }
  for (const auto& [what, ours, theirs] :
       {std::tuple{"", loaded_versions(a), loaded_versions(b)}, std::tuple{"build of ", build_ids(a), build_ids(b)},
        std::tuple{"setting ", a.flags, b.flags}, std::tuple{"variable ", a.environment, b.environment}}) {
    const std::string difference = first_difference(what, ours, theirs);
    if (!difference.empty()) return difference;
  }
  return "";
}

}  // namespace

std::string not_bitwise_because(const CellEvidence& measured, const CellEvidence& expected) {
  if (measured.device != expected.device) return fmt::format("{} against {}", measured.device, expected.device);
  const auto& ours = measured.repeats.front().ranks;
  const auto& theirs = expected.repeats.front().ranks;
  if (ours.size() != theirs.size()) return fmt::format("{} ranks against {}", ours.size(), theirs.size());
  for (std::size_t i = 0; i < ours.size(); ++i) {
    const std::string difference = fingerprints_differ_in(ours[i].result->fingerprint, theirs[i].result->fingerprint);
    if (!difference.empty()) return difference;
  }
  return "";
}

Trace constructed_part(const Trace& trace) {
  Trace part;
  part.header = trace.header;
  const TensorsRecord* first = first_step_of(trace);
  if (first == nullptr || first->step != 1) return part;
  TensorsRecord kept{first->step, false, {}};
  for (const TensorRecord& tensor : first->tensors) {
    const bool is_constructed = tensor.role == TensorRole::input || tensor.role == TensorRole::parameter;
    if (is_constructed) kept.tensors.push_back(tensor);
  }
  part.tensors.push_back(std::move(kept));
  return part;
}

Measurement by_construction_mismatches(const CellEvidence& cell, const CellEvidence* anchor) {
  const bool is_own_anchor = anchor->slug == cell.slug;
  if (is_own_anchor && cell.repeats.size() < 2) {
    return {std::nullopt, std::nullopt, "one process, and no other cell of this workload to hold it against"};
  }
  const AttemptRecord& expected = anchor->repeats.front();
  Measurement found{0.0, std::nullopt, ""};
  for (const AttemptRecord& attempt : cell.repeats) {
    const std::string against = is_own_anchor ? "repeat 0" : anchor->slug;
    for (std::size_t i = 0; i < std::min(attempt.ranks.size(), expected.ranks.size()); ++i) {
      const Trace theirs = constructed_part(*expected.ranks[i].trace);
      const Trace ours = constructed_part(*attempt.ranks[i].trace);
      const TensorsRecord* our_step = first_step_of(ours);
      const TensorsRecord* their_step = first_step_of(theirs);
      if (our_step != nullptr && their_step != nullptr) count_tensors(*our_step, *their_step, against, found);
    }
    const std::string& digest = attempt.lead().result->workload_digest;
    const std::string& expected_digest = expected.lead().result->workload_digest;
    if (digest == expected_digest) continue;
    *found.value += 1;
    if (!found.divergence) {
      found.divergence = Divergence{0, "", "workload digest", against, digest, expected_digest};
    }
  }
  return found;
}

}  // namespace reprobench
