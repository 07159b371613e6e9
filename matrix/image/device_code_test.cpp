#include "matrix/image/device_code.hpp"

#include <cstring>

#include <elf.h>

#include "ci/catch.hpp"
#include "matrix/provision/provision_fixture.hpp"

namespace reprobench {
namespace {

using namespace test;

struct Program {
  std::uint16_t kind;
  std::uint32_t architecture;
};

template <class T>
void put(std::string& bytes, T value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}

// A region as nvcc writes it: header, then an image for each architecture.
std::string region(const std::vector<Program>& programs) {
  std::string content;
  for (const Program& program : programs) {
    put(content, program.kind);
    put(content, std::uint16_t{0x101});
    put(content, std::uint32_t{64});
    put(content, std::uint64_t{24});
    for (int i = 0; i < 3; ++i) put(content, std::uint32_t{0});
    put(content, program.architecture);
    content.append(64 - 32 + 24, 'x');
  }
  std::string bytes;
  put(bytes, std::uint32_t{0xba55ed50});
  put(bytes, std::uint16_t{1});
  put(bytes, std::uint16_t{16});
  put(bytes, static_cast<std::uint64_t>(content.size()));
  return bytes + content;
}

// A 64-bit ELF file whose only content is a section .nv_fatbin.
std::string library_with(const std::string& section, std::size_t offset = 0) {
  constexpr char kNames[] = "\0.nv_fatbin\0.shstrtab";
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_machine = EM_X86_64;
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = 3;
  header.e_shstrndx = 2;
  header.e_shoff = sizeof header + section.size() + sizeof kNames;
  Elf64_Shdr none{}, code{}, names{};
  code.sh_name = 1;
  code.sh_type = SHT_PROGBITS;
  code.sh_offset = offset == 0 ? sizeof header : offset;
  code.sh_size = section.size();
  names.sh_name = 12;
  names.sh_type = SHT_STRTAB;
  names.sh_offset = sizeof header + section.size();
  names.sh_size = sizeof kNames;
  std::string bytes;
  put(bytes, header);
  bytes += section;
  bytes.append(kNames, sizeof kNames);
  for (const Elf64_Shdr& entry : {none, code, names}) put(bytes, entry);
  return bytes;
}

DeviceCode code_of(const std::string& bytes) {
  const TemporaryFolder folder;
  write_file(folder.path / "libx.so", bytes);
  return read_device_code(folder.path / "libx.so");
}

using Names = std::vector<std::string>;

TEST_CASE("the GPUs of a library are those that at least half of its programs are for", "[image]") {
  const std::string most = region({{2, 80}, {2, 90}, {1, 120}});
  const std::string few = region({{2, 89}, {2, 90}});
  const DeviceCode code = code_of(library_with(most + std::string(16, '\0') + few + most));
  CHECK(code.problem.empty());
  CHECK(code.programs == 3);
  CHECK(code.machine_code.at(89) == 1);
  CHECK(capability_names(code) == Names{"8.0", "9.0", "12.0+PTX"});
  CHECK(capability_names(code_of(library_with(most + few))) == Names{"8.0", "8.9", "9.0", "12.0+PTX"});
}

TEST_CASE("a library without device code is for no GPU, and that is no problem", "[image]") {
  const DeviceCode code = code_of(library_with(""));
  CHECK(code.problem.empty());
  CHECK(capability_names(code).empty());
}

TEST_CASE("device code that is cut or damaged is not half believed", "[image]") {
  const std::string whole = region({{2, 80}, {2, 90}});
  std::string longer = whole;
  longer[8] = static_cast<char>(longer[8] + 1);  // a region longer than its section
  std::string image = whole;
  image[16 + 8] = 127;  // an image longer than its region
  std::string headless = whole;
  headless[16 + 4] = 0;
  for (const std::string& bad : {longer, image, headless, whole + "garbage behind it"}) {
    CHECK(code_of(library_with(bad)).problem == "its fat binaries are damaged");
  }
  CHECK(code_of(library_with(whole, 100'000)).problem == "is no 64-bit ELF file");  // a section behind the end
  CHECK(code_of("no ELF").problem == "is no 64-bit ELF file");
  std::string cut = library_with(whole);
  cut.resize(cut.size() - 70);
  CHECK(code_of(cut).problem == "is no 64-bit ELF file");
}

}  // namespace
}  // namespace reprobench
