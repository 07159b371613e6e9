// The site/ of a hybrid: the files of one stack of wheels, and of others those of the components that are exchanged.
//
// `torch` takes along what only its own stack has (a package that came with its release), and leaves behind what only
// the other one has. Every other component must be in both stacks. An exchanged OpenMP library keeps the file name
// under which the hybrid's torch asks for it.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "matrix/provision/site_parts.hpp"
#include "matrix/provision/stack_manifest.hpp"

namespace reprobench {

// An installed stack of wheels that a hybrid takes files of.
struct SiteSource {
  std::string stack;             // its name
  std::filesystem::path folder;  // with stack.json and site/
  StackManifest manifest;
  SiteParts parts;

  std::filesystem::path site() const { return folder / "site"; }
};

// Throws ProvisionError where no stack is installed there.
SiteSource site_source(const std::filesystem::path& folder);

struct HybridFile {
  std::string component;
  const SiteSource* source = nullptr;
  std::string path;  // below the source's site/
};

// Which file of which stack lies where in the hybrid. Its sources outlive it.
struct HybridSite {
  std::map<std::string, HybridFile> files;           // by path below the hybrid's site/
  std::map<std::string, const SiteSource*> origins;  // by component: the stack that it is taken from

  std::filesystem::path place(const HybridFile& file) const { return file.source->site() / file.path; }
};

// `from`: component to the stack that it is taken from. Throws ProvisionError for a component that one of the two
// lacks.
HybridSite compose_site(const SiteSource& base, const std::map<std::string, const SiteSource*>& from);

// Links every file into `site`, which must not be there, and says what a manifest has of them: name, digest and wheels
// are the caller's. No byte is copied, so a changed file is changed in both stacks, and both notice it.
StackManifest link_site(const HybridSite& hybrid, const std::filesystem::path& site);

// The components whose libraries are not the same in both, by SHA-256, in order of name.
std::vector<std::string> differing_components(const SiteSource& a, const SiteSource& b);

}  // namespace reprobench
