// The site/ of a hybrid: the files of one stack of wheels, except that exchanged components have those of other stacks.
//
// `torch` takes along a package that only its own stack has, because that came with its release. It leaves behind a
// package that only the other stack has. Every other component must be in both stacks. An exchanged OpenMP library
// keeps the file name under which the hybrid's torch asks for it.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "matrix/provision/hybrid/site_parts.hpp"
#include "matrix/provision/stack_manifest.hpp"

namespace reprobench {

// An installed stack of wheels whose files a hybrid uses.
struct SiteSource {
  std::string stack;             // its name
  std::filesystem::path folder;  // with stack.json and site/
  StackManifest manifest;
  SiteParts parts;

  std::filesystem::path site() const { return folder / "site"; }
};

// Throws ProvisionError if no stack is installed there.
SiteSource site_source(const std::filesystem::path& folder);

struct HybridFile {
  std::string component;
  const SiteSource* source = nullptr;
  std::string path;  // below the source's site/
};

// Every file of a hybrid by its path, with the stack that it comes from. The sources must outlive it.
struct HybridSite {
  std::map<std::string, HybridFile> files;           // by path below the hybrid's site/
  std::map<std::string, const SiteSource*> origins;  // by component: the stack that it is taken from

  std::filesystem::path place(const HybridFile& file) const { return file.source->site() / file.path; }
};

// `from` maps a component to the stack that it is taken from. Throws ProvisionError for a component that one of the two
// lacks.
HybridSite compose_site(const SiteSource& base, const std::map<std::string, const SiteSource*>& from);

// Links every file into `site`, which must not exist, and returns the manifest of these files. Name, digest and wheels
// are the caller's to fill. No byte is copied, so a changed file is changed in both stacks, and both notice it.
StackManifest link_site(const HybridSite& hybrid, const std::filesystem::path& site);

// The components whose libraries differ between both, by SHA-256, in order of name.
std::vector<std::string> differing_components(const SiteSource& a, const SiteSource& b);

}  // namespace reprobench
