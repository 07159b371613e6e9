#include "matrix/image/image_packages.hpp"

#include <algorithm>
#include <sstream>
#include <tuple>

#include "matrix/provision/package_metadata.hpp"

namespace reprobench {
namespace {

constexpr std::int64_t kLargestMetadataBytes = 16 << 20;
constexpr std::string_view kMetadata = ".dist-info/METADATA";

}  // namespace

std::vector<ImagePackage> read_image_packages(const ImageTree& tree, std::vector<ImageFinding>& findings) {
  std::vector<ImagePackage> packages;
  for (const auto& [path, entry] : tree.entries()) {
    if (!path.ends_with(kMetadata)) continue;
    const ImageText metadata = text_in(tree, path, kLargestMetadataBytes);
    InstalledPackage installed = package_of_metadata(metadata.text);
    if (installed.name.empty()) {  // it may be the one that lies over another
      findings.push_back({FindingSeverity::unread, "metadata", "/" + path,
                          metadata.problem.empty() ? "it names no package" : "it " + metadata.problem});
      continue;
    }
    ImagePackage package;
    package.name = std::move(installed.name);
    package.version = std::move(installed.version);
    package.requirements = std::move(installed.requirements);
    package.information = std::string(folder_of_path(path));
    package.site = std::string(folder_of_path(package.information));
    packages.push_back(std::move(package));
  }
  std::sort(packages.begin(), packages.end(), [](const ImagePackage& a, const ImagePackage& b) {
    return std::tie(a.site, a.name, a.version) < std::tie(b.site, b.name, b.version);
  });
  return packages;
}

RecordedFiles read_records(const ImageTree& tree, const std::vector<ImagePackage>& packages,
                           std::vector<ImageFinding>& findings) {
  RecordedFiles files;
  for (const ImagePackage& package : packages) {
    const std::string record = package.information + "/RECORD";
    const ImageText text = text_in(tree, record, kLargestMetadataBytes);
    if (!text.problem.empty()) {
      // Distributions' own packages have none; their files count as nobody's.
      if (text.problem != "missing") {
        findings.push_back({FindingSeverity::unread, "record", "/" + record, "it " + text.problem});
      }
      continue;
    }
    std::istringstream lines(text.text);
    for (std::string line; std::getline(lines, line);) {
      // Names with commas or quotes are of no library.
      const std::size_t first = line.find(',');
      if (line.starts_with('"') || first == std::string::npos) continue;
      const std::size_t second = line.find(',', first + 1);
      files.emplace(
          path_of_link(line.substr(0, first), package.site),
          RecordedFile{&package, line.substr(first + 1, second == std::string::npos ? second : second - first - 1)});
    }
  }
  return files;
}

}  // namespace reprobench
