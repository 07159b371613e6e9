// Finds the files that the dynamic loader would take for a set of libraries and all they need, without loading any.
//
// The order is ld.so's: DT_RPATH of the library and of those that led to it, of the program, LD_LIBRARY_PATH,
// DT_RUNPATH, the host's folders. A library with a DT_RUNPATH ignores every DT_RPATH. A name is taken only once. In
// each folder `glibc-hwcaps` comes first, as far as this processor goes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "matrix/base/elf_library.hpp"

namespace reprobench {

// The place of the search: this host, or an image that is not unpacked. Paths are as a loader there sees them,
// "/usr/lib/libc.so.6"; links are followed.
class LibraryFiles {
 public:
  virtual ~LibraryFiles() = default;
  virtual bool exists(const std::string& path) const = 0;
  virtual std::optional<ElfLibrary> read(const std::string& path) const = 0;
  virtual std::string text(const std::string& path) const = 0;  // empty if there is no file
  virtual std::vector<std::string> names_in(const std::string& folder) const = 0;
  virtual bool is_same_content(const std::string& a, const std::string& b) const = 0;
};

const LibraryFiles& files_of_host();

struct LoaderFolders {
  std::vector<std::string> of_program;  // its DT_RPATH, and LD_LIBRARY_PATH
  std::vector<std::string> of_host;     // folders of ld.so.conf, and the loader's own
};

// The host's folders as they are below `root` ("/" for this host's own).
std::vector<std::string> host_library_folders(const std::string& root, const LibraryFiles& files = files_of_host());

struct FoundLibrary {
  std::string name;  // "libcudnn.so.9"
  std::string path;
};

struct MissingLibrary {
  std::string name;
  std::string needed_by;  // path of the first library that needs it
};

// Another file with the same name and other content, further down the folders in which `taken` was found first.
struct SecondCopy {
  std::string name;
  std::string taken;
  std::string other;
};

struct LibrarySearch {
  std::vector<FoundLibrary> found;  // `first`, then the libraries they need, in the order of loading
  std::vector<MissingLibrary> missing;
  std::vector<SecondCopy> second_copies;
  std::vector<SecondCopy>
      by_processor;                  // `other` is for processors of the folder that it lies in, `taken` for the rest
  std::vector<std::string> damaged;  // paths that are no ELF library of this architecture
};

// `first` has paths.
LibrarySearch search_libraries(const std::vector<std::string>& first, const LoaderFolders& folders,
                               const LibraryFiles& files = files_of_host());

// Build id of a library, or `sha256:` and the digest of the file if it has none. Throws ProvisionError if the file
// cannot be read.
std::string library_identity(const std::string& path);

}  // namespace reprobench
