#include "suites/worker/mapped_libraries.hpp"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <set>
#include <string_view>

#include <elf.h>

namespace reprobench {
namespace {

std::string file_name(const std::string& path) { return std::filesystem::path(path).filename().string(); }

template <class T>
bool read_at(std::ifstream& file, std::uint64_t offset, T& value) {
  file.seekg(static_cast<std::streamoff>(offset));
  return bool(file.read(reinterpret_cast<char*>(&value), sizeof value));
}

// The build id among the notes of one segment; empty if it is not there.
std::string build_id_of_notes(const std::string& notes) {
  constexpr char kDigits[] = "0123456789abcdef";
  const auto padded = [](std::uint32_t size) { return (std::size_t{size} + 3) / 4 * 4; };
  for (std::size_t at = 0; at + sizeof(Elf64_Nhdr) <= notes.size();) {
    Elf64_Nhdr note{};
    std::memcpy(&note, notes.data() + at, sizeof note);
    const std::size_t name = at + sizeof note;
    const std::size_t content = name + padded(note.n_namesz);
    if (content + note.n_descsz > notes.size()) return "";
    if (note.n_type == NT_GNU_BUILD_ID && notes.compare(name, 4, std::string_view("GNU\0", 4)) == 0) {
      std::string hex;
      for (const char c : notes.substr(content, note.n_descsz)) {
        hex += kDigits[static_cast<unsigned char>(c) >> 4];
        hex += kDigits[static_cast<unsigned char>(c) & 15];
      }
      return hex;
    }
    at = content + padded(note.n_descsz);
  }
  return "";
}

}  // namespace

std::vector<std::string> mapped_shared_objects() {
  std::set<std::string> paths;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    const auto slash = line.find('/');
    if (slash == std::string::npos) continue;
    const std::string path = line.substr(slash);
    if (file_name(path).find(".so") != std::string::npos) paths.insert(path);
  }
  return {paths.begin(), paths.end()};
}

std::string find_mapped(const std::vector<std::string>& paths, const std::string& prefix) {
  const auto found = std::find_if(paths.begin(), paths.end(),
                                  [&](const std::string& path) { return file_name(path).starts_with(prefix); });
  return found == paths.end() ? "" : *found;
}

std::string build_id(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  Elf64_Ehdr header{};
  if (!read_at(file, 0, header) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
      header.e_ident[EI_CLASS] != ELFCLASS64) {
    return "";
  }
  for (std::uint64_t i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment{};
    if (!read_at(file, header.e_phoff + i * header.e_phentsize, segment)) return "";
    if (segment.p_type != PT_NOTE || segment.p_filesz > 4096) continue;
    std::string notes(segment.p_filesz, '\0');
    file.seekg(static_cast<std::streamoff>(segment.p_offset));
    if (!file.read(notes.data(), static_cast<std::streamsize>(notes.size()))) return "";
    if (std::string id = build_id_of_notes(notes); !id.empty()) return id;
  }
  return "";
}

bool is_stack_library(const std::string& path) {
  static constexpr std::string_view kPrefixes[] = {
      "libtorch", "libc10",    "libcu",       "libnv",     "libnccl",   "libcaffe2",   "libmkl",
      "libblas",  "liblapack", "libopenblas", "libblis",   "libatlas",  "libgfortran", "libgomp",
      "libomp",   "libiomp5",  "libdnnl",     "libstdc++", "libm.so",   "libmvec",     "libc.so",
      "libgcc_s", "ld-linux",  "libcublas",   "libsleef",  "libXNNPACK"};
  const std::string name = file_name(path);
  return std::any_of(std::begin(kPrefixes), std::end(kPrefixes),
                     [&](std::string_view prefix) { return name.starts_with(prefix); });
}

}  // namespace reprobench
