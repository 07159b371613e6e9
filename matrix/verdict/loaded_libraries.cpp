#include "matrix/verdict/loaded_libraries.hpp"

#include <algorithm>
#include <map>

#include <fmt/format.h>

namespace reprobench {
namespace {

constexpr std::string_view kTorch = "libtorch_cpu.so";  // Debian's has its version behind that

std::string name_of(const std::string& path) { return path.substr(path.rfind('/') + 1); }

std::string build_text(const std::string& build_id) {
  return build_id.empty() ? "without a build id" : fmt::format("with build id {}", build_id);
}

const InstalledLibrary* find_installed(const InstalledLibraries& installed, const std::string& path) {
  const auto found = std::ranges::find_if(installed.libraries, [&](const InstalledLibrary& library) {
    return library.path == path || library.path == name_of(path);
  });
  return found == installed.libraries.end() ? nullptr : &*found;
}

// Those of a stack that lie elsewhere may have the name of the one that was to be loaded.
std::string expected_text(const InstalledLibraries& installed, const std::string& path) {
  const auto found = std::ranges::find_if(
      installed.libraries, [&](const InstalledLibrary& library) { return name_of(library.path) == name_of(path); });
  return found == installed.libraries.end()
             ? "the stack has no such library"
             : fmt::format("{} {} is installed", found->path, build_text(found->build_id));
}

bool may_be_loaded(const InstalledLibraries& installed, const std::string& path) {
  if (is_of_a_stack(path)) return false;
  return is_of_the_host(path) || std::ranges::any_of(installed.folders, [&](const std::string& folder) {
           return path.starts_with(folder.ends_with('/') ? folder : folder + "/");
         });
}

void hold(const InstalledLibraries& installed, const MappedLibrary& library, std::vector<std::string>& sentences) {
  const InstalledLibrary* expected = find_installed(installed, library.path);
  if (expected == nullptr) {
    if (may_be_loaded(installed, library.path)) return;
    sentences.push_back(fmt::format("{} was loaded {}; {}", library.path, build_text(library.build_id),
                                    expected_text(installed, library.path)));
  } else if (expected->build_id != library.build_id) {
    sentences.push_back(fmt::format("{} was loaded {}, installed is one {}", library.path, build_text(library.build_id),
                                    build_text(expected->build_id)));
  }
}

template <class Take>
void for_each_result(const AttemptRecord& attempt, Take take) {
  const auto all = [&](const std::vector<RankRecord>& ranks) {
    for (const RankRecord& rank : ranks) {
      if (rank.result) take(*rank.result);
    }
  };
  all(attempt.ranks);
  for (const SegmentRecord& segment : attempt.segments) all(segment.ranks);
}

const InstalledLibraries* installed_for(const Plan& plan, const Cell& cell) {
  const auto host = cell.coordinates.find("host");
  const std::string& stack = cell.request.stack;
  const auto found = plan.installed.find(host == cell.coordinates.end() ? stack : name_on_host(stack, host->second));
  return found == plan.installed.end() ? nullptr : &found->second;
}

using BuildIds = std::map<std::string, std::string>;

BuildIds of_the_stack(const Fingerprint& fingerprint) {
  BuildIds ids;
  for (const MappedLibrary& library : fingerprint.libraries) {
    if (is_of_a_stack(library.path)) ids[name_of(library.path)] = library.build_id;
  }
  return ids;
}

}  // namespace

std::vector<std::string> wrong_libraries(const InstalledLibraries& installed, const Fingerprint& loaded) {
  std::vector<std::string> sentences;
  for (const char* variable : {"LD_PRELOAD", "LD_AUDIT", kSystemPreload}) {
    const auto set = loaded.environment.find(variable);
    if (set == loaded.environment.end() || set->second.empty()) continue;
    sentences.push_back(fmt::format("{} brought {} into the worker, which is not of its stack", variable, set->second));
  }
  for (const MappedLibrary& library : loaded.libraries) hold(installed, library, sentences);
  const bool is_told = std::ranges::any_of(
      loaded.libraries, [](const MappedLibrary& library) { return name_of(library.path).starts_with(kTorch); });
  // The first is the one that a cell is shown with, and the others follow from torch more often than it from them.
  std::stable_partition(sentences.begin(), sentences.end(),
                        [](const std::string& sentence) { return sentence.find(kTorch) != std::string::npos; });
  if (!is_told) sentences.push_back(fmt::format("not known which {} was loaded", kTorch));
  return sentences;
}

std::vector<std::string> wrong_libraries(const Plan& plan, const Cell& cell,
                                         const std::vector<const AttemptRecord*>& attempts) {
  std::vector<std::string> sentences;
  const InstalledLibraries* installed = installed_for(plan, cell);
  if (installed == nullptr) return sentences;
  for (const AttemptRecord* attempt : attempts) {
    if (attempt == nullptr || attempt->end == AttemptEnd::store) continue;
    for_each_result(*attempt, [&](const CellResult& result) {
      for (std::string& sentence : wrong_libraries(*installed, result.fingerprint)) {
        if (std::ranges::find(sentences, sentence) == sentences.end()) sentences.push_back(std::move(sentence));
      }
    });
  }
  return sentences;
}

std::string same_libraries(const Fingerprint& measured, const Fingerprint& expected, bool declare_one_torch) {
  const BuildIds here = of_the_stack(measured);
  const BuildIds there = of_the_stack(expected);
  const auto torch = std::ranges::find_if(here, [](const auto& library) { return library.first.starts_with(kTorch); });
  if (torch == here.end() || torch->second.empty() || std::ranges::find(there, *torch) == there.end()) return "";
  if (declare_one_torch && here != there) return "";
  return fmt::format("both stacks loaded the same {}, build id {}: one torch is compared with itself", torch->first,
                     torch->second);
}

}  // namespace reprobench
