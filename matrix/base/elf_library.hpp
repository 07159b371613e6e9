// Reads from the file of a shared library, without loading it, its build id, its name, the libraries it needs and the
// folders where it looks for them. For 64-bit ELF.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace reprobench {

struct ElfLibrary {
  bool is_x86_64 = false;
  std::string build_id;              // hex of the GNU note; empty if it has none
  std::string soname;                // empty if it has none
  std::vector<std::string> needed;   // DT_NEEDED, in order
  std::vector<std::string> rpath;    // DT_RPATH, folder by folder; `$ORIGIN` is replaced by the file's own folder
  std::vector<std::string> runpath;  // DT_RUNPATH, likewise
};

// Nothing if `path` is no such file, or damaged. `origin` is the folder that `$ORIGIN` stands for, if the library is to
// be read as if it lay there; empty stands for its own folder.
std::optional<ElfLibrary> read_elf_library(const std::filesystem::path& path, const std::filesystem::path& origin = {});

}  // namespace reprobench
