// The software that an image really holds: its PyTorch, the libraries that it would load and all other copies of them,
// read from the files. Nothing is run.
//
// Evidence has an order: first a library's own bytes, then the package whose RECORD has these bytes, then a header or a
// file's name. A version without evidence is empty, never guessed.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "matrix/image/finding.hpp"
#include "matrix/image/image.hpp"

namespace reprobench {

// Whether a library is the one that its package recorded.
enum class RecordState { intact, changed, unowned };
template <>
struct Words<RecordState> {
  static constexpr std::array<std::string_view, 3> table = {"intact", "changed", "unowned"};
};

struct ImagePackage {
  std::string name;  // lower case, with dashes
  std::string version;
  std::string site;                         // folder it is installed in, "opt/venv/lib/python3.12/site-packages"
  std::string information;                  // its .dist-info
  std::vector<std::string> requirements{};  // Requires-Dist lines
};

struct ImageLibrary {
  std::string name;       // the name under which it is asked for, "libcudnn.so.9"
  std::string path;       // with its links resolved, and a leading slash
  std::string component;  // "cudnn"; empty for others
  std::string identity;   // build id, or sha256:
  std::string version;    // empty if there is no evidence
  std::string evidence;   // "nvidia-cudnn-cu13 9.19.0.56, as recorded"
  RecordState record = RecordState::unowned;
  bool is_taken = false;                  // the loader would take it for this PyTorch
  std::vector<std::string> capabilities;  // of its device code, "9.0", "12.0+PTX"
};

struct FoundComponent {
  std::string version;
  std::string evidence;
};

struct ImageSoftware {
  std::vector<std::string> torches;                  // folders of each PyTorch; the first one is inspected
  std::map<std::string, FoundComponent> components;  // python, torch, torchvision, cuda, cudnn, nccl ...
  std::vector<ImagePackage> packages;                // all packages in the site of that PyTorch
  std::vector<ImageLibrary> libraries;
  std::vector<ImageFinding> findings;
};

ImageSoftware find_software(const Image& image);

// The component that a library belongs to, by its name; empty for none.
std::string component_of_library(std::string_view name);

// Whether find_software() reads the bytes of a file.
bool is_software_evidence(std::string_view path, std::int64_t size_bytes);

}  // namespace reprobench
