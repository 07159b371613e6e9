// The Python packages in an image, and the files that each has recorded as its own.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "matrix/image/image_software.hpp"

namespace reprobench {

// The packages in order of site and name. A METADATA that cannot be read, or names no package, is a finding.
std::vector<ImagePackage> read_image_packages(const ImageTree& tree, std::vector<ImageFinding>& findings);

struct RecordedFile {
  const ImagePackage* package = nullptr;
  std::string hash;  // "sha256=..."; empty if none is recorded
};

// The files that the packages' RECORDs name, by path in the image. A file that two packages claim has two entries.
using RecordedFiles = std::multimap<std::string, RecordedFile>;
RecordedFiles read_records(const ImageTree& tree, const std::vector<ImagePackage>& packages,
                           std::vector<ImageFinding>& findings);

}  // namespace reprobench
