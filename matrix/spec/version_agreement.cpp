#include "matrix/spec/version_agreement.hpp"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "matrix/base/digits.hpp"

namespace reprobench {
namespace {

std::string without_local_part(const std::string& version) { return version.substr(0, version.find('+')); }

bool begins_with_parts_of(const std::string& beginning, const std::string& version) {
  return version == beginning || version.starts_with(beginning + ".");
}

// Numbers between dots, for an order of versions; -1 for what is none.
std::vector<int> numbers_of(const std::string& version) {
  std::vector<int> numbers;
  for (std::size_t at = 0; at <= version.size();) {
    numbers.push_back(-1);
    std::from_chars(version.data() + at, version.data() + version.size(), numbers.back());
    at = std::min(version.find('.', at), version.size()) + 1;
  }
  return numbers;
}

// CUDA, cuDNN and NCCL run what was built against an older release of their major, and publishers of wheels rely on it:
// torch 2.8.0 and 2.9.0 were built against cuDNN 9.8.0 and carry 9.10.2. Built against a newer one, or another major,
// the library may lack what torch calls.
bool runs(const std::string& component, const std::string& version, const std::string& compiled) {
  if (agrees_with(version, compiled)) return true;
  const bool takes_older = component == "cuda" || component == "cudnn" || component == "nccl";
  return takes_older && numbers_of(version)[0] == numbers_of(compiled)[0] && numbers_of(compiled) < numbers_of(version);
}

// "mkl" or "generic" names a provider, not a version.
bool is_version(const std::string& text) { return !text.empty() && is_digit(text.front()); }

std::string without_patch(const std::string& version) { return version.substr(0, version.rfind('.')); }

}  // namespace

bool agrees_with(const std::string& declared, const std::string& actual) {
  const bool both_local = declared.find('+') != std::string::npos && actual.find('+') != std::string::npos;
  if (both_local) return declared == actual;
  return begins_with_parts_of(without_local_part(declared), without_local_part(actual));
}

std::vector<VersionDisagreement> find_version_disagreements(const std::map<std::string, std::string>& declared,
                                                            const Fingerprint& fingerprint) {
  std::vector<VersionDisagreement> disagreements;
  for (const auto& [name, compiled, loaded, path] : fingerprint.components) {
    const auto wanted = declared.find(name);
    if (wanted == declared.end()) {
      if (!is_version(compiled) || !is_version(loaded) || runs(name, loaded, compiled) || agrees_with(compiled, loaded))
        continue;
      disagreements.push_back(
          {name, fmt::format("{}: compiled against {}, loaded {} from {}", name, compiled, loaded, path)});
      continue;
    }
    const std::string& version = wanted->second;
    const bool compiled_fits = compiled.empty() || runs(name, version, compiled);
    const bool loaded_fits = loaded.empty() || agrees_with(version, loaded);
    if (compiled_fits && loaded_fits) continue;
    std::string found;
    if (!compiled_fits) found = "compiled against " + (compiled == loaded ? "" : compiled);
    if (!compiled_fits && !loaded_fits) found += compiled == loaded ? "and " : ", ";
    if (!loaded_fits) found += fmt::format("loaded {}{}", loaded, path.empty() ? "" : " from " + path);
    const auto fits_but_for_patch = [&](const std::string& actual) {
      return actual.empty() || agrees_with(without_patch(version), actual);
    };
    disagreements.push_back({name, fmt::format("{}: declared {}, {}", name, version, found),
                             fits_but_for_patch(compiled) && fits_but_for_patch(loaded)});
  }
  return disagreements;
}

}  // namespace reprobench
