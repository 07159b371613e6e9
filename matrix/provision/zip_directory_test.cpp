// Archives made byte by byte: what may stand in each field of them, and what may not.
#include "matrix/provision/zip_directory.hpp"

#include <optional>

#include "ci/catch.hpp"
#include "matrix/provision/provision_error.hpp"
#include "matrix/provision/provision_fixture.hpp"

using namespace reprobench;
using namespace reprobench::test;

namespace {

std::string bytes_of(std::uint64_t value, int width) {
  std::string bytes;
  for (int i = 0; i < width; ++i) bytes += static_cast<char>(value >> (8 * i));
  return bytes;
}

// A stored entry, as the local header and the directory tell it; a test changes the one or the other.
struct HandMadeEntry {
  std::string name;
  std::string content = "content";
  std::uint32_t flags = 0;
  std::string gap = {};  // bytes before its local header
  std::optional<std::string> local_name = {};
  std::uint32_t method = 0, local_method = 0;
  std::uint32_t crc = 7, local_crc = 7;
  std::optional<std::uint32_t> size = {}, packed = {}, local_size = {}, local_packed = {};
  std::uint32_t made_by = 3 << 8 | 45;
  std::uint32_t attributes = 0100644u << 16;
  std::string extra = {}, comment = {};
};

// What stands after the entries.
struct HandMadeEnd {
  std::string gap = {};  // between entries and directory
  std::optional<std::uint64_t> entries = {};
  std::string after_directory = {};
  std::string comment = {};
  int comment_bytes = -1;  // as told; negative: as they are
  bool is_64 = false;
  std::uint32_t signature_64 = 0x06064b50, locator_64 = 0x07064b50;
};

std::string archive_of(const std::vector<HandMadeEntry>& entries, const HandMadeEnd& end = {}, bool reversed = false) {
  std::string file;
  std::vector<std::string> headers;
  for (const HandMadeEntry& entry : entries) {
    file += entry.gap;
    const auto length = static_cast<std::uint32_t>(entry.content.size());
    const std::string local_name = entry.local_name.value_or(entry.name);
    const auto offset = file.size();
    file += bytes_of(0x04034b50, 4) + bytes_of(45, 2) + bytes_of(entry.flags, 2) + bytes_of(entry.local_method, 2) +
            bytes_of(0, 4) + bytes_of(entry.local_crc, 4) + bytes_of(entry.local_packed.value_or(length), 4) +
            bytes_of(entry.local_size.value_or(length), 4) + bytes_of(local_name.size(), 2) + bytes_of(0, 2) +
            local_name + entry.content;
    headers.push_back(bytes_of(0x02014b50, 4) + bytes_of(entry.made_by, 2) + bytes_of(45, 2) +
                      bytes_of(entry.flags, 2) + bytes_of(entry.method, 2) + bytes_of(0, 4) + bytes_of(entry.crc, 4) +
                      bytes_of(entry.packed.value_or(length), 4) + bytes_of(entry.size.value_or(length), 4) +
                      bytes_of(entry.name.size(), 2) + bytes_of(entry.extra.size(), 2) +
                      bytes_of(entry.comment.size(), 2) + bytes_of(0, 4) + bytes_of(entry.attributes, 4) +
                      bytes_of(offset, 4) + entry.name + entry.extra + entry.comment);
  }
  if (reversed) std::reverse(headers.begin(), headers.end());
  std::string directory;
  for (const std::string& header : headers) directory += header;
  file += end.gap;
  const auto at = file.size();
  const auto count = end.entries.value_or(entries.size());
  file += directory + end.after_directory;
  if (end.is_64) {
    const auto record = file.size();
    file += bytes_of(end.signature_64, 4) + bytes_of(44, 8) + bytes_of(45, 2) + bytes_of(45, 2) + bytes_of(0, 8) +
            bytes_of(count, 8) + bytes_of(count, 8) + bytes_of(directory.size(), 8) + bytes_of(at, 8);
    file += bytes_of(end.locator_64, 4) + bytes_of(0, 4) + bytes_of(record, 8) + bytes_of(1, 4);
  }
  const auto told = end.comment_bytes < 0 ? end.comment.size() : static_cast<std::size_t>(end.comment_bytes);
  return file + bytes_of(0x06054b50, 4) + bytes_of(0, 4) + bytes_of(end.is_64 ? 0xffff : count, 2) +
         bytes_of(end.is_64 ? 0xffff : count, 2) + bytes_of(end.is_64 ? 0xffffffff : directory.size(), 4) +
         bytes_of(end.is_64 ? 0xffffffff : at, 4) + bytes_of(told, 2) + end.comment;
}

// "name size, name size", or why it was refused.
std::string reading_of(const std::string& archive, const ZipLimits& limits = {}) {
  const TemporaryFolder folder;
  write_file(folder.path / "a.whl", archive);
  try {
    std::string text;
    for (const ZipEntry& entry : read_zip_directory(folder.path / "a.whl", limits)) {
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", entry.name, entry.size_bytes);
    }
    return text;
  } catch (const ProvisionError& error) {
    return error.what();
  }
}

std::string refused(const std::string& code, const std::string& what) {
  return "a.whl: error[" + code + "]: " + what + "; nothing was extracted";
}

HandMadeEntry entry_with(const std::function<void(HandMadeEntry&)>& change) {
  HandMadeEntry entry{"a"};
  change(entry);
  return entry;
}

const std::string kAsWhole = "a 7";

}  // namespace

TEST_CASE("entries are told in the order of the directory, whatever their order in the file", "[provision][B75]") {
  const std::vector<HandMadeEntry> entries = {{"torch/", ""}, {"torch/a", "1"}, {"b", "four"}};
  CHECK(reading_of(archive_of(entries)) == "torch/ 0, torch/a 1, b 4");
  CHECK(reading_of(archive_of(entries, {}, true)) == "b 4, torch/a 1, torch/ 0");
  CHECK(reading_of(archive_of({})) == "");
  CHECK(ZipEntry{"torch/"}.is_folder());
  CHECK_FALSE(ZipEntry{"torch/a"}.is_folder());
}

TEST_CASE("an archive may end with a comment of any length, told as it is", "[provision][B75]") {
  for (const std::size_t length : {std::size_t{1}, std::size_t{300}, std::size_t{65'535}}) {
    CHECK(reading_of(archive_of({{"a"}}, {.comment = std::string(length, 'x')})) == kAsWhole);
  }
  CHECK(reading_of(archive_of({{"a"}}, {.comment = "hello", .comment_bytes = 4})) ==
        refused("RB075", "it is no complete zip archive"));
  CHECK(reading_of("PK") == refused("RB075", "it is no complete zip archive"));
  CHECK(reading_of("") == refused("RB075", "it is no complete zip archive"));
  CHECK_THAT(reading_of(archive_of({HandMadeEntry{.name = "a", .comment = "on an entry"}})),
             Catch::Matchers::StartsWith(kAsWhole));
}

TEST_CASE("only a data descriptor may stand between entries, and only behind an entry that says so",
          "[provision][B75]") {
  const auto between = [](std::uint32_t flags, std::size_t gap) {
    return reading_of(archive_of(
        {HandMadeEntry{.name = "a", .flags = flags}, HandMadeEntry{.name = "b", .gap = std::string(gap, 'd')}}));
  };
  const auto at_end = [](std::uint32_t flags, std::size_t gap) {
    return reading_of(archive_of({HandMadeEntry{.name = "a", .flags = flags}}, {.gap = std::string(gap, 'd')}));
  };
  constexpr std::uint32_t kDescriptor = 1 << 3;
  CHECK(between(kDescriptor, 24) == "a 7, b 7");
  CHECK(between(kDescriptor, 0) == "a 7, b 7");
  CHECK(between(kDescriptor, 25) == refused("RB075", "entry \"b\" does not follow the one before it"));
  CHECK(between(0, 1) == refused("RB075", "entry \"b\" does not follow the one before it"));
  CHECK(at_end(kDescriptor, 24) == kAsWhole);
  CHECK(at_end(kDescriptor, 25) == refused("RB075", "bytes between entries and directory belong to neither"));
  CHECK(at_end(0, 1) == refused("RB075", "bytes between entries and directory belong to neither"));
  CHECK(reading_of(archive_of({HandMadeEntry{.name = "a", .gap = "x"}})) ==
        refused("RB075", "entry \"a\" does not follow the one before it"));
  CHECK(reading_of(archive_of({{"a"}}, {.after_directory = "x"})) ==
        refused("RB075", "bytes between entries and directory belong to neither"));
  CHECK(reading_of(archive_of({HandMadeEntry{.name = "a", .packed = 3, .local_packed = 3}, {"b"}})) ==
        refused("RB075", "entry \"b\" does not follow the one before it"));
}

TEST_CASE("whatever a local header says otherwise than the directory is refused", "[provision][B75]") {
  using Change = std::function<void(HandMadeEntry&)>;
  const auto reading = [](const Change& change) { return reading_of(archive_of({entry_with(change)})); };
  const std::string differ = refused("RB075", "entry \"a\": local header (\"a\") and central directory differ");
  CHECK(reading([](HandMadeEntry&) {}) == kAsWhole);
  CHECK(reading([](HandMadeEntry& entry) { entry.local_name = "b"; }) ==
        refused("RB075", "entry \"a\": local header (\"b\") and central directory differ"));
  CHECK(reading([](HandMadeEntry& entry) { entry.local_method = 8; }) == differ);
  CHECK(reading([](HandMadeEntry& entry) { entry.local_crc = 8; }) == differ);
  CHECK(reading([](HandMadeEntry& entry) { entry.local_size = 8; }) == differ);
  CHECK(reading([](HandMadeEntry& entry) { entry.local_packed = 8; }) == differ);
  // The sizes of what was written as a stream follow its data; large ones stand in 64 bits elsewhere.
  CHECK(reading([](HandMadeEntry& entry) {
          entry.flags = 1 << 3;
          entry.local_crc = 0;
          entry.local_size = entry.local_packed = 0;
        }) == kAsWhole);
  CHECK(reading([](HandMadeEntry& entry) {
          entry.flags = 1 << 3;
          entry.local_method = 8;
        }) == differ);
  CHECK(reading([](HandMadeEntry& entry) { entry.local_size = entry.local_packed = 0xffffffff; }) == kAsWhole);
}

TEST_CASE("a directory that tells another number of entries, or is no directory, is refused", "[provision][B75]") {
  const std::string damaged = refused("RB075", "central directory is damaged");
  CHECK(reading_of(archive_of({{"a"}}, {.entries = 2})) == damaged);
  CHECK(reading_of(archive_of({{"a"}, {"b"}}, {.entries = 1})) == damaged);
  std::string other = archive_of({{"a"}});
  other.replace(other.find("PK\x01\x02"), 4, "PK\x01\x03");
  CHECK(reading_of(other) == damaged);
  std::string local = archive_of({{"a"}});
  local.replace(0, 4, "PK\x03\x05");
  CHECK(reading_of(local) == refused("RB075", "entry \"a\" has no local header"));
}

TEST_CASE("an archive of 64 bits is read by its own end", "[provision][B75]") {
  CHECK(reading_of(archive_of({{"a"}, {"b", "4444"}}, {.is_64 = true})) == "a 7, b 4");
  CHECK(reading_of(archive_of({{"a"}}, {.is_64 = true, .signature_64 = 1})) ==
        refused("RB075", "zip64 end of directory is missing"));
  CHECK(reading_of(archive_of({{"a"}}, {.is_64 = true, .locator_64 = 1})) ==
        refused("RB075", "zip64 locator is missing"));
  CHECK(reading_of(archive_of({{"a"}}, {.entries = 2, .is_64 = true})) ==
        refused("RB075", "central directory is damaged"));
}

TEST_CASE("sizes of 64 bits are found among other extra fields, in the format's order", "[provision][B75]") {
  const std::string other = bytes_of(0x5455, 2) + bytes_of(5, 2) + "times";
  const std::string sizes = bytes_of(1, 2) + bytes_of(16, 2) + bytes_of(7, 8) + bytes_of(7, 8);
  const auto with_extra = [](const std::string& extra) {
    return reading_of(archive_of({entry_with([&](HandMadeEntry& entry) {
      entry.size = entry.packed = 0xffffffff;
      entry.extra = extra;
    })}));
  };
  CHECK(with_extra(sizes) == kAsWhole);
  CHECK(with_extra(other + sizes) == kAsWhole);
  CHECK(with_extra(sizes + other) == kAsWhole);
  const std::string lacks = refused("RB075", "entry \"a\" lacks its zip64 sizes");
  CHECK(with_extra("") == lacks);
  CHECK(with_extra(other) == lacks);
  CHECK(with_extra(bytes_of(1, 2) + bytes_of(8, 2) + bytes_of(7, 8)) == lacks);
  CHECK(with_extra(bytes_of(1, 2) + bytes_of(16, 2) + bytes_of(7, 8)) == lacks);
  CHECK(with_extra(bytes_of(1, 2) + bytes_of(16, 2) + bytes_of(9, 8) + bytes_of(7, 8)).starts_with("a.whl: error"));
  // The unpacked size comes first: the larger one is not the packed one.
  CHECK(reading_of(archive_of({entry_with([](HandMadeEntry& entry) {
          entry.size = entry.packed = entry.local_size = 0xffffffff;
          entry.extra = bytes_of(1, 2) + bytes_of(16, 2) + bytes_of(900, 8) + bytes_of(7, 8);
        })})) == "a 900");
}

TEST_CASE("limits are of what may be reached", "[provision][B77]") {
  const std::string archive = archive_of({{"a", std::string(60, 'x')}, {"b", std::string(40, 'x')}});
  CHECK(reading_of(archive, {.entries = 2}) == "a 60, b 40");
  CHECK(reading_of(archive, {.entries = 1}) == refused("RB077", "it has 2 entries, the limit is 1"));
  CHECK(reading_of(archive, {.size_bytes = 100}) == "a 60, b 40");
  CHECK(reading_of(archive, {.size_bytes = 99}) == refused("RB077", "it unpacks to more than 99 bytes"));
  const std::string small =
      archive_of({entry_with([](HandMadeEntry& entry) { entry.size = entry.local_size = 1'130; })});
  REQUIRE(small.size() == 107);  // 30 + 1 + 7, 46 + 1 and 22
  const double ratio = 1'130.0 / 107.0;
  CHECK(reading_of(small, {.ratio = ratio}) == "a 1130");
  CHECK(reading_of(small, {.ratio = 10}) == refused("RB077", "it unpacks to 11 times its size, the limit is 10"));
}

TEST_CASE("names that have no part, an empty part or a way out are refused", "[provision][B73]") {
  const auto of_name = [](const std::string& name) { return reading_of(archive_of({{name, "1"}})); };
  for (const char* name : {"a", "a/b", "a/", "a.b/..c", "ab:c", "1:/x", "...", "a/b:c"}) {
    CHECK(of_name(name) == std::string(name) + " 1");
  }
  for (const char* name : {"/a", "..", "../a", "a/..", "a/../b", "C:/x", "c:x"}) {
    CHECK(of_name(name) == refused("RB073", "entry \"" + std::string(name) + "\" leaves the target folder"));
  }
  for (const char* name : {"a//b", "a/./b", ".", "./a", "a/.", "a//"}) {
    CHECK(of_name(name) == refused("RB073", "entry \"" + std::string(name) + "\" has a name with an empty part"));
  }
  CHECK(of_name("") == refused("RB073", "entry \"\" has no usable name"));
  CHECK(of_name("a\x1f\x7f\\b ") == refused("RB073", "entry \"a\\x1f\\x7f\\b \" has a backslash in its name"));
  CHECK(of_name("/" + std::string(300, 'x')) ==
        refused("RB073", "entry \"/" + std::string(199, 'x') + "\" leaves the target folder"));
}

TEST_CASE("a link is one by its type, and only as Unix tells types", "[provision][B74]") {
  const auto reading = [](std::uint32_t made_by, std::uint32_t mode) {
    return reading_of(archive_of({entry_with([&](HandMadeEntry& entry) {
      entry.made_by = made_by;
      entry.attributes = mode << 16;
    })}));
  };
  const std::string link = refused("RB074", "entry \"a\" is a symbolic link");
  CHECK(reading(3 << 8, 0120777) == link);
  CHECK(reading(3 << 8 | 63, 0120000) == link);
  CHECK(reading(0 << 8, 0120777) == kAsWhole);
  CHECK(reading(3 << 8, 0100777) == kAsWhole);
  CHECK(reading(3 << 8, 0040777) == kAsWhole);
  CHECK(reading(3 << 8, 0160777) == kAsWhole);
}

TEST_CASE("a path is spelt one way, and is a file or a folder", "[provision][B78]") {
  const auto of_names = [](const std::vector<std::string>& names) {
    std::vector<HandMadeEntry> entries;
    for (const std::string& name : names) entries.push_back({name, "1"});
    return reading_of(archive_of(entries));
  };
  CHECK(of_names({"a/", "a/b", "a/c", "a/B2"}) == "a/ 1, a/b 1, a/c 1, a/B2 1");
  CHECK(of_names({"a/b", "A/c"}) == refused("RB078", "\"a\" and \"A\" differ only in case"));
  CHECK(of_names({"x/a/b", "x/A/c"}) == refused("RB078", "\"x/a\" and \"x/A\" differ only in case"));
  CHECK(of_names({"Z", "z"}) == refused("RB078", "\"Z\" and \"z\" differ only in case"));
  CHECK(of_names({"a/", "A"}) == refused("RB078", "\"a\" and \"A\" differ only in case"));
  CHECK(of_names({"[", "{"}) == "[ 1, { 1");
  CHECK(of_names({"@", "`"}) == "@ 1, ` 1");
  CHECK(of_names({"a", "a"}) == refused("RB074", "entry \"a\" appears twice"));
  CHECK(of_names({"a", "a/"}) == refused("RB074", "entry \"a\" is both a file and a folder"));
  CHECK(of_names({"a/b/c", "a/b"}) == refused("RB074", "entry \"a/b\" is both a file and a folder"));
}
