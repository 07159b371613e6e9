// Versions that are known to compute wrongly, slowly or not at all. They are the rows `known_defects` of the facts,
// each with its versions and a source.
#pragma once

#include <array>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "matrix/contract/document/words.hpp"
#include "matrix/contract/result.hpp"
#include "matrix/plan/version_range.hpp"

namespace reprobench {

// Where a row of the facts comes from.
struct Evidence {
  std::vector<std::string> sources;  // keys of CompatFacts::sources
  std::string confidence;            // "V", "I" or "R"
};

enum class DefectEffect { numerics, throughput, memory, hang, crash, communication };
template <>
struct Words<DefectEffect> {
  static constexpr std::array<std::string_view, 6> table = {"numerics", "throughput", "memory",
                                                            "hang",     "crash",      "communication"};
};

struct KnownDefect {
  std::string id;                                  // "conv3d-bf16-wrong"
  std::map<std::string, VersionRange> components;  // all must match; names as in `components_of_defects`
  std::string operation;                           // "conv3d"
  std::string dtype;                               // "bf16"; empty: no matter which, or not told
  bool on_cpu = false;
  bool on_gpu = false;
  DefectEffect effect = DefectEffect::numerics;
  std::string sentence;
  Evidence evidence;
};

// The names that a defect can depend on: "torch", "cuda", "cudnn", ..., and "sm", the compute capability.
std::span<const std::string_view> components_of_defects();

// Versions by these names that a worker loaded. A library that is not loaded computes nothing.
std::map<std::string, std::string> loaded_versions(const Fingerprint& fingerprint);

struct DefectsOfStack {
  std::vector<KnownDefect> apply;      // every version they depend on is known, and affected
  std::vector<KnownDefect> may_apply;  // no version is known to be unaffected, at least one is or may be affected
};

// `components` has versions by name, with any number of parts. A component that is not in it is not known.
DefectsOfStack known_defects_of(std::span<const KnownDefect> known,
                                const std::map<std::string, std::string>& components);

}  // namespace reprobench
