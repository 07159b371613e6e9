#include "matrix/inquiry/explain/known_defect_notes.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "matrix/contract/device/device_class.hpp"
#include "matrix/contract/knob.hpp"

namespace reprobench {
namespace {

std::map<std::string, std::string> versions_of(const ComparedSide& side) {
  auto versions = loaded_versions(side.attempt.lead().result->fingerprint);
  const auto device = DeviceClass::parse(side.request.device);
  if (device && device->is_gpu()) versions["sm"] = device->compute_capability();
  return versions;
}

bool concerns(const KnownDefect& defect, const ComparedSide& side) {
  const bool is_on_device = side.request.device == "cpu" ? defect.on_cpu : defect.on_gpu;
  const std::string precision = text_of<&Settings::precision>(setting_in<&Settings::precision>(side.request.knobs));
  return defect.effect == DefectEffect::numerics && is_on_device && (defect.dtype.empty() || defect.dtype == precision);
}

}  // namespace

void note_known_defects(const ComparedSide& measured, const ComparedSide& expected, const CompatFacts& facts,
                        Explanation& explanation) {
  if (explanation.diagnosis && explanation.diagnosis->word == ExplainedWord::rounding) return;
  for (const ComparedSide* side : {&measured, &expected}) {
    for (const KnownDefect& defect : known_defects_of(facts.known_defects, versions_of(*side)).apply) {
      if (!concerns(defect, *side)) continue;
      std::vector<std::string> sources;
      for (const std::string& key : defect.evidence.sources) sources.push_back(facts.sources.at(key));
      explanation.notes.push_back(fmt::format("{}: known defect {} of {}: {} ({})", side->label, defect.id,
                                              defect.operation, defect.sentence, fmt::join(sources, "; ")));
    }
  }
}

}  // namespace reprobench
