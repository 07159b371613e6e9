#include "matrix/base/elf_library.hpp"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <string_view>

#include <elf.h>

#include "matrix/base/number.hpp"
#include "matrix/base/regular_file.hpp"

namespace reprobench {
namespace {

template <class T>
bool read_at(std::ifstream& file, std::uint64_t offset, T& value) {
  file.seekg(static_cast<std::streamoff>(offset));
  return bool(file.read(reinterpret_cast<char*>(&value), sizeof value));
}

std::vector<Elf64_Phdr> read_segments(std::ifstream& file, const Elf64_Ehdr& header) {
  std::vector<Elf64_Phdr> segments;
  for (std::uint64_t i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment{};
    if (!read_at(file, header.e_phoff + i * header.e_phentsize, segment)) return {};
    segments.push_back(segment);
  }
  return segments;
}

// The build id among the notes of one segment; empty if it is not there.
std::string build_id_of_notes(const std::string& notes) {
  const auto padded = [](std::uint32_t size) { return (std::size_t{size} + 3) / 4 * 4; };
  for (std::size_t at = 0; at + sizeof(Elf64_Nhdr) <= notes.size();) {
    Elf64_Nhdr note{};
    std::memcpy(&note, notes.data() + at, sizeof note);
    const std::size_t name = at + sizeof note;
    const std::size_t content = name + padded(note.n_namesz);
    if (content + note.n_descsz > notes.size()) return "";
    if (note.n_type == NT_GNU_BUILD_ID && notes.compare(name, 4, std::string_view("GNU\0", 4)) == 0) {
      return hex_of_bytes(std::string_view(notes).substr(content, note.n_descsz));
    }
    at = content + padded(note.n_descsz);
  }
  return "";
}

std::string read_build_id(std::ifstream& file, const std::vector<Elf64_Phdr>& segments) {
  for (const Elf64_Phdr& segment : segments) {
    if (segment.p_type != PT_NOTE || segment.p_filesz > 4096) continue;
    std::string notes(segment.p_filesz, '\0');
    file.seekg(static_cast<std::streamoff>(segment.p_offset));
    if (!file.read(notes.data(), static_cast<std::streamsize>(notes.size()))) return "";
    if (std::string id = build_id_of_notes(notes); !id.empty()) return id;
  }
  return "";
}

// The place in the file of an address of the loaded library; 0 if there is none.
std::uint64_t file_offset(const std::vector<Elf64_Phdr>& segments, std::uint64_t address) {
  for (const Elf64_Phdr& segment : segments) {
    if (segment.p_type != PT_LOAD || address < segment.p_vaddr) continue;
    if (address - segment.p_vaddr < segment.p_filesz) return segment.p_offset + (address - segment.p_vaddr);
  }
  return 0;
}

std::vector<std::string> folders_of(std::string list, const std::string& origin) {
  std::vector<std::string> folders;
  list += ':';
  for (std::size_t at = 0; at < list.size(); at = list.find(':', at) + 1) {
    std::string folder = list.substr(at, list.find(':', at) - at);
    for (const std::string_view word : {"$ORIGIN", "${ORIGIN}"}) {
      if (folder.starts_with(word)) folder.replace(0, word.size(), origin);
    }
    if (!folder.empty()) folders.push_back(std::filesystem::path(folder).lexically_normal().string());
  }
  return folders;
}

bool read_dynamic_section(std::ifstream& file, const std::vector<Elf64_Phdr>& segments, const std::string& origin,
                          ElfLibrary& library) {
  constexpr std::uint64_t kMaxEntries = 4096;
  std::vector<Elf64_Dyn> entries;
  for (const Elf64_Phdr& segment : segments) {
    if (segment.p_type != PT_DYNAMIC) continue;
    for (std::uint64_t i = 0; i < std::min(kMaxEntries, segment.p_filesz / sizeof(Elf64_Dyn)); ++i) {
      Elf64_Dyn entry{};
      if (!read_at(file, segment.p_offset + i * sizeof entry, entry)) return false;
      if (entry.d_tag == DT_NULL) break;
      entries.push_back(entry);
    }
  }
  std::uint64_t strings = 0;
  for (const Elf64_Dyn& entry : entries) {
    if (entry.d_tag == DT_STRTAB) strings = file_offset(segments, entry.d_un.d_ptr);
  }
  if (strings == 0) return false;
  for (const Elf64_Dyn& entry : entries) {
    const auto tag = entry.d_tag;
    if (tag != DT_NEEDED && tag != DT_SONAME && tag != DT_RPATH && tag != DT_RUNPATH) continue;
    std::string text;
    file.seekg(static_cast<std::streamoff>(strings + entry.d_un.d_val));
    if (!std::getline(file, text, '\0')) return false;
    if (tag == DT_NEEDED) library.needed.push_back(text);
    if (tag == DT_SONAME) library.soname = text;
    if (tag == DT_RPATH) library.rpath = folders_of(text, origin);
    if (tag == DT_RUNPATH) library.runpath = folders_of(text, origin);
  }
  return true;
}

}  // namespace

std::optional<ElfLibrary> read_elf_library(const std::filesystem::path& path, const std::filesystem::path& origin) {
  if (!open_regular_file(path).problem.empty()) return std::nullopt;
  std::ifstream file(path, std::ios::binary);
  Elf64_Ehdr header{};
  if (!read_at(file, 0, header) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
      header.e_ident[EI_CLASS] != ELFCLASS64) {
    return std::nullopt;
  }
  const std::vector<Elf64_Phdr> segments = read_segments(file, header);
  ElfLibrary library;
  const std::filesystem::path folder = origin.empty() ? std::filesystem::absolute(path).parent_path() : origin;
  if (!read_dynamic_section(file, segments, folder.string(), library)) return std::nullopt;
  library.is_x86_64 = header.e_machine == EM_X86_64;
  library.build_id = read_build_id(file, segments);
  return library;
}

}  // namespace reprobench
