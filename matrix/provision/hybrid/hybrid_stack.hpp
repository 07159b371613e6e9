// A stack of `source: hybrid`: its file, and its site/, which is made from those of other stacks of the same store.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "matrix/provision/stack_manifest.hpp"
#include "matrix/spec/stack_spec.hpp"

namespace reprobench {

// A stack whose files a hybrid uses: its declaration, and its folder's name in the store.
struct HybridSource {
  StackSpec spec;
  std::string folder;
};

// Maps a component to the stack that it is taken from.
using HybridSources = std::map<std::string, HybridSource>;

// "torch-2.8.0-cu128-with-cudnn-nccl-of-torch-2.9.0-cu128"; a name that would be too long has a digest instead.
std::string hybrid_name(const std::string& base, const HybridSources& from);

// "torch-2.8.0-cu128 with cudnn, nccl of torch-2.9.0-cu128"
std::string hybrid_summary(const std::string& base, const HybridSources& from);

std::string hybrid_stack_file(const std::string& name, const HybridSource& base, const HybridSources& from);

// The folder of the stack from which a hybrid has its torch, and so its headers and the libraries of a worker's build.
std::string folder_of_torch(const StackSpec& hybrid);

// Why the libraries of such a hybrid may not meet, one sentence for each problem; empty if they may. Nothing is
// written. Throws ProvisionError for a component that one of the stacks lacks.
std::vector<std::string> find_hybrid_problems(const std::filesystem::path& home, const StackSpec& hybrid);

// Makes its site/ of links. Throws ProvisionError if one of its stacks is not installed any more, has changed, or has
// no GPU part while another one has.
StackManifest make_hybrid_site(const std::filesystem::path& home, const StackSpec& hybrid,
                               const std::filesystem::path& site);

}  // namespace reprobench
