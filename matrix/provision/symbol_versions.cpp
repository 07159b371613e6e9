#include "matrix/provision/symbol_versions.hpp"

#include <cstring>
#include <optional>

#include <elf.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "matrix/base/elf_library.hpp"
#include "matrix/base/regular_file.hpp"

namespace reprobench {
namespace {

constexpr std::int64_t kLargestFileBytes = std::int64_t{4} << 30;
constexpr int kMostEntries = 65'536;

// A whole ELF file of this machine's kind, whose parts are read where they really lie.
class ElfBytes {
 public:
  explicit ElfBytes(const std::filesystem::path& path) : bytes_(read_regular_file(path, kLargestFileBytes).text) {
    const auto header = at<Elf64_Ehdr>(0);
    if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 || header->e_ident[EI_CLASS] != ELFCLASS64)
      return;
    for (std::uint64_t i = 0; i < header->e_shnum; ++i) {
      const auto section = at<Elf64_Shdr>(header->e_shoff + i * header->e_shentsize);
      if (section) sections_.push_back(*section);
    }
  }

  const Elf64_Shdr* section(std::uint32_t type) const {
    for (const Elf64_Shdr& section : sections_) {
      if (section.sh_type == type) return &section;
    }
    return nullptr;
  }

  // Text of the string table that belongs to a section; empty if it is not there.
  std::string text(const Elf64_Shdr& section, std::uint64_t offset) const {
    if (section.sh_link >= sections_.size()) return "";
    const std::uint64_t start = sections_[section.sh_link].sh_offset + offset;
    if (start >= bytes_.size()) return "";
    return bytes_.substr(start, bytes_.find('\0', start) - start);
  }

  template <class T>
  std::optional<T> at(std::uint64_t offset) const {
    if (offset > bytes_.size() || bytes_.size() - offset < sizeof(T)) return std::nullopt;
    T value;
    std::memcpy(&value, bytes_.data() + offset, sizeof value);
    return value;
  }

 private:
  std::string bytes_;
  std::vector<Elf64_Shdr> sections_;
};

// Names of the dynamic symbols that `wanted` accepts.
template <class Wanted>
std::set<std::string> symbol_names(const std::filesystem::path& library, Wanted wanted) {
  const ElfBytes elf(library);
  std::set<std::string> names;
  const Elf64_Shdr* section = elf.section(SHT_DYNSYM);
  if (section == nullptr) return names;
  for (std::uint64_t at = sizeof(Elf64_Sym); at + sizeof(Elf64_Sym) <= section->sh_size; at += sizeof(Elf64_Sym)) {
    const auto symbol = elf.at<Elf64_Sym>(section->sh_offset + at);
    if (!symbol) break;
    if (symbol->st_name != 0 && wanted(*symbol)) names.insert(elf.text(*section, symbol->st_name));
  }
  return names;
}

}  // namespace

std::set<std::string> undefined_symbols(const std::filesystem::path& library) {
  return symbol_names(library, [](const Elf64_Sym& symbol) {
    return symbol.st_shndx == SHN_UNDEF && ELF64_ST_BIND(symbol.st_info) != STB_WEAK;
  });
}

std::set<std::string> defined_symbols(const std::filesystem::path& library) {
  return symbol_names(library, [](const Elf64_Sym& symbol) { return symbol.st_shndx != SHN_UNDEF; });
}

std::map<std::string, std::set<std::string>> needed_symbol_versions(const std::filesystem::path& program) {
  const ElfBytes elf(program);
  std::map<std::string, std::set<std::string>> needed;
  const Elf64_Shdr* section = elf.section(SHT_GNU_verneed);
  if (section == nullptr) return needed;
  int entries = 0;
  for (std::uint64_t library_at = section->sh_offset; ++entries < kMostEntries;) {
    const auto library = elf.at<Elf64_Verneed>(library_at);
    if (!library) break;
    std::uint64_t version_at = library_at + library->vn_aux;
    for (int i = 0; i < library->vn_cnt && ++entries < kMostEntries; ++i) {
      const auto version = elf.at<Elf64_Vernaux>(version_at);
      if (!version) break;
      needed[elf.text(*section, library->vn_file)].insert(elf.text(*section, version->vna_name));
      version_at += version->vna_next;
    }
    if (library->vn_next == 0) break;
    library_at += library->vn_next;
  }
  return needed;
}

std::set<std::string> defined_symbol_versions(const std::filesystem::path& library) {
  const ElfBytes elf(library);
  std::set<std::string> defined;
  const Elf64_Shdr* section = elf.section(SHT_GNU_verdef);
  if (section == nullptr) return defined;
  int entries = 0;
  for (std::uint64_t at = section->sh_offset; ++entries < kMostEntries;) {
    const auto version = elf.at<Elf64_Verdef>(at);
    const auto name = version ? elf.at<Elf64_Verdaux>(at + version->vd_aux) : std::nullopt;
    if (!name) break;
    defined.insert(elf.text(*section, name->vda_name));
    if (version->vd_next == 0) break;
    at += version->vd_next;
  }
  return defined;
}

std::string missing_symbol_versions(const std::map<std::string, std::set<std::string>>& needed,
                                    const std::vector<std::string>& search) {
  std::vector<std::string> sentences;
  for (const auto& [library, versions] : needed) {
    std::filesystem::path found;
    for (const std::string& folder : search) {
      const std::filesystem::path path = std::filesystem::path(folder) / library;
      // The loader passes over libraries of another architecture, as those of a 32-bit runtime.
      if (const auto elf = read_elf_library(path); found.empty() && elf && elf->is_x86_64) found = path;
    }
    if (found.empty()) {
      sentences.push_back(fmt::format("it has no {}", library));
      continue;
    }
    const std::set<std::string> defined = defined_symbol_versions(found);
    std::vector<std::string> missing;
    for (const std::string& version : versions) {
      if (!defined.contains(version)) missing.push_back(version);
    }
    if (!missing.empty()) {
      sentences.push_back(fmt::format("its {} lacks {}", found.string(), fmt::join(missing, ", ")));
    }
  }
  return fmt::format("{}", fmt::join(sentences, "\n"));
}

}  // namespace reprobench
