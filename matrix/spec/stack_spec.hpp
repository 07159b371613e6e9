// matrix/stacks/NAME.yaml: one set of software, every component pinned. The lock file beside it (NAME.lock) pins the
// wheels.
//
//   schema: 1
//   name: torch-2.9.0-cu128
//   source: wheel
//   components: {torch: "2.9.0+cu128", cuda: "12.8", cudnn: "9.10.2", nccl: "2.27.5"}
//   cxx11_abi: 1
//   cxx_standard: 17          # the lowest this torch's headers accept; the worker itself is C++20
//   wheel:
//     python: "3.12"
//     lock: torch-2.9.0-cu128.lock
//     cpu_wheels: [torch, nvidia-cuda-runtime-cu12, nvidia-cuda-cupti-cu12]
//
// A stack of `source: system` is a distribution's package, or an environment that `reprobench stack adopt` found:
//   system: {include_dirs: [...], library_dirs: [...], libraries: {libtorch_cpu.so: "build id"}}
//
// A stack of `source: hybrid` has the wheels of one stack, except for the components named here, whose wheels come from
// other stacks. Each stack is named by its folder in the store, so that a stack that was changed since is another one:
//   hybrid: {base: torch-2.8.0-cu128-95f6e28033da, parts: {cudnn: torch-2.9.0-cu128-a8a832a0cf3c}}
//
// A stack of `source: image` lies in an unpacked root and runs inside it; its folders are those that a program there
// sees:
//   image: {name: "team/pytorch:2.9", digest: "sha256:...", root: /store/images/.../root, include_dirs: [...], ...}
#pragma once

#include <map>
#include <string>
#include <vector>

#include "matrix/contract/document/words.hpp"
#include "matrix/spec/spec_error.hpp"

namespace reprobench {

enum class StackSource { wheel, system, image, hybrid };
template <>
struct Words<StackSource> {
  static constexpr std::array<std::string_view, 4> table = {"wheel", "system", "image", "hybrid"};
};

struct StackSpec {
  std::string name;
  StackSource source = StackSource::wheel;
  std::string summary;
  std::map<std::string, std::string> components;  // torch, cuda, cudnn, nccl; absent: the stack has none
  int cxx11_abi = 1;
  int cxx_standard = 17;
  // source: wheel
  std::string python;                   // tag of the wheels, "3.12"; independent of the host's Python
  std::string lock_path;                // absolute
  std::vector<std::string> cpu_wheels;  // distributions that a host without a GPU needs
  // source: system
  std::string package;          // distribution package that has it, "libtorch-dev"; empty: the stack was adopted
  std::string package_version;  // its upstream version, "1.13.1"
  // source: image
  std::string image;                           // the name that was given
  std::string image_digest;                    // of its manifest, or of the root's content
  std::string root;                            // absolute
  std::vector<std::string> host_include_dirs;  // of this host: headers of CUDA that the image lacks
  // source: system, image
  std::vector<std::string> include_dirs;  // for an image, as its programs see them
  std::vector<std::string> library_dirs;
  std::map<std::string, std::string> libraries;  // for an adopted stack: name to build id, or `sha256:` and digest
  // source: hybrid
  std::string base;                          // folder of a stack in the store
  std::map<std::string, std::string> parts;  // component to the folder of the stack from which it is taken
  std::string text;                          // the file as read: part of the stack digest
  Mark mark;

  bool is_adopted() const { return source == StackSource::system && !libraries.empty(); }
  bool is_of_wheels() const { return source == StackSource::wheel || source == StackSource::hybrid; }
};

// Throws SpecError.
StackSpec parse_stack(const std::string& text, const std::string& file);
StackSpec load_stack(const std::string& path);

// The stack files of a folder, by the name of the stack. A file that cannot be read as a stack has the name of the
// file. It is an error only for a command that names that stack.
struct StackFiles {
  std::map<std::string, StackSpec> stacks;
  std::map<std::string, SpecError> broken;

  // Throws the error of the file if `name` is broken.
  void require_readable(const std::string& name) const;
};

// Throws SpecError only if the folder itself cannot be read.
StackFiles read_stack_files(const std::string& folder);

// All stacks of a folder by name. Throws SpecError with the errors of all files.
std::map<std::string, StackSpec> load_stacks(const std::string& folder);

}  // namespace reprobench
