// The libraries of an image: where the loader would find them, their components, and their versions by their bytes,
// their package or their name.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "matrix/image/image_packages.hpp"
#include "matrix/provision/library_search.hpp"

namespace reprobench {

// The files of an image in the form that the loader's search needs. Keeps a reference to `tree`.
class ImageFiles : public LibraryFiles {
 public:
  explicit ImageFiles(const ImageTree& tree) : tree_(tree) {}
  bool exists(const std::string& path) const override;
  std::optional<ElfLibrary> read(const std::string& path) const override;
  std::string text(const std::string& path) const override;
  std::vector<std::string> names_in(const std::string& folder) const override;
  bool is_same_content(const std::string& a, const std::string& b) const override;
  void hide(const std::string& path) { hidden_.insert(path); }  // from exists()
  std::string real_path(const std::string& path) const;         // links followed; `path` itself if it leads nowhere

 private:
  const ImageTree& tree_;
  std::set<std::string> hidden_;
};

// Paths of `found`, the answer to `first`, to which /etc/ld.so.conf alone leads. The loader does not read it:
// `ldconfig` writes down in /etc/ld.so.cache what lies in its folders, and what came later is not found.
std::vector<std::string> libraries_not_in_cache(const std::vector<std::string>& first, const LoaderFolders& folders,
                                                const std::vector<FoundLibrary>& found, const ImageFiles& files);

bool is_library_name(std::string_view name);  // "libcudnn.so.9", "ld-linux-x86-64.so.2"
bool is_of_driver(std::string_view name);     // a library that the host provides, "libcuda.so.1"

// Fills version, evidence and record. `content` is the path on this host of its bytes. Fields without evidence stay
// empty.
void name_version(ImageLibrary& library, const std::string& content, const RecordedFiles& records);

}  // namespace reprobench
