// Packages of Python that an image holds, and which files each has recorded as its own.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "matrix/image/image_software.hpp"

namespace reprobench {

// In order of site and name. A METADATA that cannot be read, or names no package, is a finding.
std::vector<ImagePackage> read_image_packages(const ImageTree& tree, std::vector<ImageFinding>& findings);

struct RecordedFile {
  const ImagePackage* package = nullptr;
  std::string hash;  // "sha256=..."; empty: none is recorded
};

// The files that the packages' RECORDs name, by path in the image. A file that two packages claim is there twice.
using RecordedFiles = std::multimap<std::string, RecordedFile>;
RecordedFiles read_records(const ImageTree& tree, const std::vector<ImagePackage>& packages,
                           std::vector<ImageFinding>& findings);

}  // namespace reprobench
