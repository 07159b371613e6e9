#include "matrix/image/device_code.hpp"

#include <cstdint>
#include <cstring>
#include <set>

#include <elf.h>
#include <fmt/format.h>
#include <unistd.h>

#include "matrix/base/regular_file.hpp"

namespace reprobench {
namespace {

// The content of the sections .nv_fatbin and __nv_relfatbin as nvcc writes them: regions, each of which holds images of
// one program for several architectures. The layout is that of the toolkit's fatbinary.h and, for an image, as
// `cuobjdump` shows it.
struct RegionHeader {
  std::uint32_t magic;
  std::uint16_t version;
  std::uint16_t header_bytes;
  std::uint64_t content_bytes;
};
constexpr std::uint32_t kMagic = 0xba55ed50;

struct ProgramHeader {
  std::uint16_t kind;  // 1: PTX, 2: machine code
  std::uint16_t version;
  std::uint32_t header_bytes;
  std::uint64_t content_bytes;
  std::uint32_t compressed_bytes;
  std::uint32_t options;
  std::uint16_t minor;
  std::uint16_t major;
  std::uint32_t architecture;  // 90 for sm_90
};
static_assert(sizeof(RegionHeader) == 16 && sizeof(ProgramHeader) == 32);

constexpr std::uint64_t kAlignment = 8;

class LibraryReader {
 public:
  explicit LibraryReader(const std::filesystem::path& path) : file_(open_regular_file(path, Links::refused)) {}

  template <class T>
  bool read(std::uint64_t offset, T& value) const {
    return offset + sizeof value <= size_bytes() &&
           pread(file_.fd.get(), &value, sizeof value, static_cast<off_t>(offset)) == sizeof value;
  }
  std::uint64_t size_bytes() const { return file_.problem.empty() ? static_cast<std::uint64_t>(file_.size_bytes) : 0; }
  std::string text(std::uint64_t offset) const {
    char text[32] = {};
    const ssize_t count = pread(file_.fd.get(), text, sizeof text - 1, static_cast<off_t>(offset));
    return count > 0 ? std::string(text) : "";
  }

 private:
  RegularFile file_;
};

struct Span {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

// The sections with device code. False if the file is no ELF library.
bool find_sections(const LibraryReader& library, std::vector<Span>& sections) {
  Elf64_Ehdr header{};
  if (!library.read(0, header) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
      header.e_ident[EI_CLASS] != ELFCLASS64) {
    return false;
  }
  Elf64_Shdr names{};
  if (header.e_shnum == 0) return true;  // stripped of its sections
  if (!library.read(header.e_shoff + std::uint64_t{header.e_shstrndx} * header.e_shentsize, names)) return false;
  for (std::uint64_t i = 0; i < header.e_shnum; ++i) {
    Elf64_Shdr section{};
    if (!library.read(header.e_shoff + i * header.e_shentsize, section)) return false;
    const std::string name = library.text(names.sh_offset + section.sh_name);
    if (name != ".nv_fatbin" && name != "__nv_relfatbin") continue;
    if (section.sh_type == SHT_NOBITS || section.sh_offset > library.size_bytes() ||
        section.sh_size > library.size_bytes() - section.sh_offset) {
      return false;
    }
    sections.push_back({section.sh_offset, section.sh_offset + section.sh_size});
  }
  return true;
}

bool read_region(const LibraryReader& library, Span region, DeviceCode& code) {
  std::set<int> machine_code;
  std::set<int> ptx;
  while (region.begin + sizeof(ProgramHeader) <= region.end) {
    ProgramHeader program{};
    if (!library.read(region.begin, program)) return false;
    if (program.header_bytes < sizeof program || program.header_bytes > region.end - region.begin ||
        program.content_bytes > region.end - region.begin - program.header_bytes) {
      return false;
    }
    if (program.kind == 1) ptx.insert(static_cast<int>(program.architecture));
    if (program.kind == 2) machine_code.insert(static_cast<int>(program.architecture));
    region.begin += program.header_bytes + program.content_bytes;
  }
  ++code.programs;
  for (const int architecture : machine_code) ++code.machine_code[architecture];
  for (const int architecture : ptx) ++code.ptx[architecture];
  return true;
}

bool read_section(const LibraryReader& library, Span section, DeviceCode& code) {
  while (section.begin + sizeof(RegionHeader) <= section.end) {
    RegionHeader region{};
    if (!library.read(section.begin, region)) return false;
    if (region.magic != kMagic) {  // between regions lies padding
      if (region.magic != 0) return false;
      section.begin += kAlignment;
      continue;
    }
    const std::uint64_t left = section.end - section.begin;
    if (region.header_bytes < sizeof region || region.header_bytes > left ||
        region.content_bytes > left - region.header_bytes) {
      return false;
    }
    const std::uint64_t begin = section.begin + region.header_bytes;
    if (!read_region(library, {begin, begin + region.content_bytes}, code)) return false;
    section.begin = (begin + region.content_bytes + kAlignment - 1) / kAlignment * kAlignment;
  }
  return true;
}

}  // namespace

DeviceCode read_device_code(const std::filesystem::path& path) {
  DeviceCode code;
  const LibraryReader library(path);
  std::vector<Span> sections;
  if (!find_sections(library, sections)) {
    code.problem = "is no 64-bit ELF file";
    return code;
  }
  for (const Span& section : sections) {
    if (!read_section(library, section, code)) code.problem = "its fat binaries are damaged";
  }
  return code;
}

std::vector<std::string> capability_names(const DeviceCode& code) {
  std::vector<std::string> names;
  const auto add = [&](const std::map<int, int>& architectures, const char* suffix) {
    for (const auto& [number, programs] : architectures) {
      if (2 * programs >= code.programs) names.push_back(fmt::format("{}.{}{}", number / 10, number % 10, suffix));
    }
  };
  add(code.machine_code, "");
  add(code.ptx, "+PTX");
  return names;
}

}  // namespace reprobench
