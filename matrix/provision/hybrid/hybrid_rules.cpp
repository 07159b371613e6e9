#include "matrix/provision/hybrid/hybrid_rules.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "matrix/base/elf_library.hpp"
#include "matrix/provision/symbol_versions.hpp"
#include "matrix/provision/wheel_unpack.hpp"

namespace reprobench {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kShownSymbols = 4;

std::string name_of(const std::string& path) { return path.substr(path.rfind('/') + 1); }

// Libraries of a stack, or of a hybrid, by the names that the loader is asked for.
using LibrariesByName = std::map<std::string, fs::path>;

LibrariesByName libraries_of(const SiteSource& source) {
  LibrariesByName libraries;
  for (const auto& [component, part] : source.parts) {
    for (const std::string& path : part.libraries()) libraries.emplace(name_of(path), source.site() / path);
  }
  return libraries;
}

LibrariesByName libraries_of(const HybridSite& hybrid) {
  LibrariesByName libraries;
  for (const auto& [path, file] : hybrid.files) {
    if (is_shared_library(path)) libraries.emplace(name_of(path), hybrid.place(file));
  }
  return libraries;
}

std::set<std::string> sonames_of(const SiteSource& source, const std::string& component) {
  std::set<std::string> names;
  for (const std::string& path : source.parts.at(component).libraries()) {
    const auto elf = read_elf_library(source.site() / path);
    if (elf && !elf->soname.empty()) names.insert(elf->soname);
  }
  return names;
}

std::string shown(const std::vector<std::string>& symbols) {
  const std::size_t count = std::min(symbols.size(), kShownSymbols);
  return fmt::format("{}{}", fmt::join(symbols.begin(), symbols.begin() + static_cast<std::ptrdiff_t>(count), ", "),
                     symbols.size() > count ? fmt::format(" and {} more", symbols.size() - count) : "");
}

std::vector<std::string> in_both(const std::set<std::string>& a, const std::set<std::string>& b) {
  std::vector<std::string> both;
  std::ranges::set_intersection(a, b, std::back_inserter(both));
  return both;
}

std::vector<std::string> without(const std::vector<std::string>& names, const std::set<std::string>& known) {
  std::vector<std::string> missing;
  std::ranges::copy_if(names, std::back_inserter(missing),
                       [&](const std::string& name) { return !known.contains(name); });
  return missing;
}

class AbiCheck {
 public:
  explicit AbiCheck(const HybridSite& hybrid) : hybrid_(hybrid), met_(libraries_of(hybrid)) {}

  std::vector<std::string> run() {
    hold_sonames();
    for (const auto& [path, file] : hybrid_.files) {
      if (is_shared_library(path)) hold_library(path, file);
    }
    return std::move(problems_);
  }

 private:
  void hold_sonames() {
    const auto torch = hybrid_.origins.find("torch");
    if (torch == hybrid_.origins.end()) return;
    const SiteSource& of_torch = *torch->second;
    for (const auto& [component, origin] : hybrid_.origins) {
      if (component == "openmp" || origin == &of_torch || !of_torch.parts.contains(component)) continue;
      const std::set<std::string> there = sonames_of(*origin, component);
      const std::set<std::string> asked = sonames_of(of_torch, component);
      const std::vector<std::string> missing = without({asked.begin(), asked.end()}, there);
      if (missing.empty()) continue;
      problems_.push_back(fmt::format("soname: torch of {} asks {} for {}, the one of {} has {}", of_torch.stack,
                                      component, shown(missing), origin->stack, shown({there.begin(), there.end()})));
    }
  }

  void hold_library(const std::string& path, const HybridFile& file) {
    const auto elf = read_elf_library(hybrid_.place(file));
    if (!elf) {
      problems_.push_back(fmt::format("{} of {} cannot be read as a library", path, file.source->stack));
      return;
    }
    const LibrariesByName& own = own_of(*file.source);
    const std::string who = fmt::format("{} of {}", name_of(path), file.source->stack);
    for (const std::string& needed : elf->needed) {
      const auto its_own = own.find(needed);
      if (its_own == own.end()) continue;  // the host's
      const auto met = met_.find(needed);
      if (met == met_.end()) {
        problems_.push_back(fmt::format("needed: {} needs {}, which the hybrid does not have", who, needed));
      } else if (met->second != its_own->second) {
        hold_pair(who, hybrid_.place(file), its_own->second, met->second);
      }
    }
  }

  void hold_pair(const std::string& who, const fs::path& library, const fs::path& own, const fs::path& met) {
    const std::string whom = fmt::format("{} of {}", name_of(met.string()), stack_of(met));
    const auto versions = needed_symbol_versions(library);
    if (const auto needed = versions.find(name_of(own.string())); needed != versions.end()) {
      const auto missing = without({needed->second.begin(), needed->second.end()}, defined_symbol_versions(met));
      if (!missing.empty()) {
        problems_.push_back(fmt::format("versions: {} needs {}, which {} does not define", who, shown(missing), whom));
      }
    }
    const auto taken = in_both(undefined_symbols(library), defined_symbols(own));
    const auto missing = without(taken, defined_symbols(met));
    if (missing.empty()) return;
    problems_.push_back(fmt::format("symbols: {} takes {} symbols, of which {} lacks {}: {}", who, taken.size(), whom,
                                    missing.size(), shown(missing)));
  }

  const LibrariesByName& own_of(const SiteSource& source) {
    const auto known = own_.find(&source);
    return known != own_.end() ? known->second : own_[&source] = libraries_of(source);
  }

  std::string stack_of(const fs::path& place) const {
    const auto found =
        std::ranges::find_if(hybrid_.files, [&](const auto& file) { return hybrid_.place(file.second) == place; });
    return found == hybrid_.files.end() ? "" : found->second.source->stack;
  }

  const HybridSite& hybrid_;
  LibrariesByName met_;
  std::map<const SiteSource*, LibrariesByName> own_;
  std::vector<std::string> problems_;
};

}  // namespace

std::vector<std::string> find_abi_problems(const HybridSite& hybrid) { return AbiCheck(hybrid).run(); }

}  // namespace reprobench
