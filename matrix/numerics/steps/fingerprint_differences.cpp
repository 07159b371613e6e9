#include "matrix/numerics/steps/fingerprint_differences.hpp"

#include <filesystem>
#include <map>

#include <fmt/format.h>

namespace reprobench {
namespace {

constexpr const char* kNotLoaded = "not loaded";

using Texts = std::map<std::string, std::string>;

Texts versions(const Fingerprint& fingerprint) {
  Texts texts;
  for (const ComponentVersion& component : fingerprint.components) {
    texts[component.name] = component.loaded.empty() ? component.compiled : component.loaded;
  }
  return texts;
}

std::string gpu_text(const Fingerprint& fingerprint) {
  if (!fingerprint.device) return fingerprint.device_name;
  return fmt::format("{}, {} SMs", fingerprint.device->name, fingerprint.device->sm_count);
}

// Without build ids a library counts by its name.
Texts build_ids(const Fingerprint& fingerprint) {
  Texts ids;
  for (const MappedLibrary& library : fingerprint.libraries) {
    ids[std::filesystem::path(library.path).filename()] = library.build_id;
  }
  return ids;
}

struct Part {
  FingerprintPart part;
  const char* prefix;
  Texts (*texts)(const Fingerprint& fingerprint);
};

// clang-format off
constexpr Part kParts[] = {
    {FingerprintPart::component,    "",          &versions},
    {FingerprintPart::blas,         "",          [](const Fingerprint& f) { return Texts{{"blas provider", f.blas_provider}}; }},
    {FingerprintPart::instructions, "",          [](const Fingerprint& f) { return Texts{{"vector instructions", f.cpu_capability}}; }},
    {FingerprintPart::gpu,          "",          [](const Fingerprint& f) { return Texts{{"device", gpu_text(f)}}; }},
    {FingerprintPart::cpu,          "",          [](const Fingerprint& f) { return Texts{{"cpu", f.cpu_model}}; }},
    {FingerprintPart::threads,      "",          [](const Fingerprint& f) { return Texts{{"threads", std::to_string(f.threads)}}; }},
    {FingerprintPart::compiler,     "",          [](const Fingerprint& f) { return Texts{{"worker compiler", f.compiler}}; }},
    {FingerprintPart::build,        "build of ", &build_ids},
    {FingerprintPart::setting,      "setting ",  [](const Fingerprint& f) { return f.flags; }},
    {FingerprintPart::variable,     "variable ", [](const Fingerprint& f) { return f.environment; }},
};
// clang-format on

}  // namespace

std::vector<FingerprintDifference> fingerprint_differences(const Fingerprint& measured, const Fingerprint& expected) {
  std::vector<FingerprintDifference> differences;
  for (const Part& part : kParts) {
    std::map<std::string, SideDifference> by_name;
    for (const auto& [name, text] : part.texts(measured)) by_name[name].measured = text;
    for (const auto& [name, text] : part.texts(expected)) by_name[name].expected = text;
    for (auto& [name, sides] : by_name) {
      if (sides.measured == sides.expected) continue;
      sides.what = part.prefix + name;
      const bool is_loaded = part.part == FingerprintPart::component || part.part == FingerprintPart::blas;
      for (std::string* side : {&sides.measured, &sides.expected}) {
        if (is_loaded && side->empty()) *side = kNotLoaded;
      }
      differences.push_back({part.part, std::move(sides)});
    }
  }
  return differences;
}

std::string sides_text(const SideDifference& difference) {
  const auto quoted = [](const std::string& text) {
    return text.empty() ? "none" : text == kNotLoaded ? text : fmt::format("`{}`", text);
  };
  return fmt::format("{} against {}", quoted(difference.measured), quoted(difference.expected));
}

}  // namespace reprobench
