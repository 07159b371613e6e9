#include "matrix/provision/wheel_unpack.hpp"

#include "ci/catch.hpp"
#include "matrix/provision/provision_error.hpp"
#include "matrix/provision/provision_fixture.hpp"

using namespace reprobench;
using namespace reprobench::test;

namespace {

// An archive that must be refused, and what came of unpacking it.
struct Refusal {
  std::string message;
  std::vector<std::string> left;
};

class WheelFolder {
 public:
  std::filesystem::path wheel() const { return folder_.path / "a/torch.whl"; }
  std::filesystem::path target() const { return folder_.path / "site"; }

  void make(const std::vector<ArchiveEntry>& entries) { write_wheel(wheel(), "torch", "1.0", entries); }

  Refusal refuse(const ZipLimits& limits = {}) const {
    std::string message = message_of<ProvisionError>([&] {
      unpack_wheel(
          wheel(), target(), [](std::string_view) { return true; }, {}, limits);
    });
    return {.message = std::move(message), .left = names_below(target())};
  }

 private:
  TemporaryFolder folder_;
};

// Little-endian fields, each a value and its width in bytes.
std::string zip_bytes(const std::vector<std::pair<std::uint64_t, int>>& fields) {
  std::string bytes;
  for (const auto& [value, width] : fields) {
    for (int i = 0; i < width; ++i) bytes += static_cast<char>(value >> (8 * i));
  }
  return bytes;
}

// An archive of one empty stored file whose packed size stands in the directory's zip64 field.
std::string zip64_of_one_entry(const std::string& name, std::uint64_t packed_bytes) {
  const auto length = name.size();
  const std::string local =
      zip_bytes({{0x04034b50, 4}, {45, 2}, {0, 2}, {0, 2}, {0, 4}, {0, 4}, {0, 4}, {0, 4}, {length, 2}, {0, 2}}) + name;
  const std::string central = zip_bytes({{0x02014b50, 4},
                                         {45, 2},
                                         {45, 2},
                                         {0, 2},
                                         {0, 2},
                                         {0, 4},
                                         {0, 4},
                                         {0xffffffff, 4},
                                         {0, 4},
                                         {length, 2},
                                         {12, 2},
                                         {0, 2},
                                         {0, 2},
                                         {0, 2},
                                         {0, 4},
                                         {0, 4}}) +
                              name + zip_bytes({{1, 2}, {8, 2}, {packed_bytes, 8}});
  return local + central +
         zip_bytes({{0x06054b50, 4}, {0, 2}, {0, 2}, {1, 2}, {1, 2}, {central.size(), 4}, {local.size(), 4}, {0, 2}});
}

}  // namespace

TEST_CASE("a good wheel is unpacked with the hash of every file", "[provision]") {
  WheelFolder wheels;
  wheels.make({{"torch/lib/libc10.so", std::string(5000, 'c')}, {"torch/version.py", ""}, {"torch/a,\"b\".py", "x"}});
  // RECORD is CSV, so a name with a comma is quoted there; write_wheel does not, and the unpacker must notice.
  CHECK_THAT(wheels.refuse().message, ContainsSubstring("RB076"));

  WheelFolder good;
  good.make({{"torch/lib/libc10.so", std::string(5000, 'c')}, {"torch/version.py", ""}});
  const auto files =
      unpack_wheel(good.wheel(), good.target(), [](std::string_view name) { return name.starts_with("torch/"); });
  REQUIRE(files.size() == 2);
  CHECK(files[0].path == "torch/lib/libc10.so");
  CHECK(files[0].size_bytes == 5000);
  CHECK(files[0].sha256 == sha256_of_text(std::string(5000, 'c')));
  CHECK(read_file(good.target() / "torch/lib/libc10.so") == std::string(5000, 'c'));
  CHECK(std::filesystem::exists(good.target() / "torch/version.py"));
  CHECK_FALSE(std::filesystem::exists(good.target() / "torch-1.0.dist-info"));
}

TEST_CASE("entries that leave the target folder are refused before anything is written", "[provision][B73]") {
  const std::string name = GENERATE(as<std::string>{}, "../../x", "torch/../../x", "/etc/x", "C:/x", "..");
  WheelFolder wheels;
  wheels.make({{"torch/ok", "fine"}, {name, "evil"}});
  const Refusal refusal = wheels.refuse();
  CHECK(refusal.message ==
        "torch.whl: error[RB073]: entry \"" + name + "\" leaves the target folder; nothing was extracted");
  CHECK(refusal.left.empty());
}

TEST_CASE("names with backslash, NUL or empty parts are refused", "[provision][B73]") {
  WheelFolder backslash;
  backslash.make({{"torch\\x", "evil"}});
  CHECK_THAT(backslash.refuse().message, ContainsSubstring("error[RB073]") && ContainsSubstring("backslash"));

  WheelFolder nul;
  nul.make({{"torch/evil.py", "evil"}});
  for (int occurrence = 0; occurrence < 2; ++occurrence) {
    // Both headers, but not the line of RECORD, which is compressed.
    patch_file(nul.wheel(), "torch/evil.py", std::string("torch/evil\0py", 13));
  }
  CHECK_THAT(nul.refuse().message, ContainsSubstring("error[RB073]") && ContainsSubstring("torch/evil\\x00py"));

  WheelFolder dot;
  dot.make({{"torch/./x", "evil"}});
  CHECK_THAT(dot.refuse().message, ContainsSubstring("error[RB073]"));
}

TEST_CASE("symbolic links and names that appear twice are refused", "[provision][B74]") {
  WheelFolder link;
  link.make({{"torch/link", "/etc", true}});
  Refusal refusal = link.refuse();
  CHECK(refusal.message == "torch.whl: error[RB074]: entry \"torch/link\" is a symbolic link; nothing was extracted");
  CHECK(refusal.left.empty());

  WheelFolder twice;
  twice.make({{"torch/x", "one"}, {"torch/x", "two"}});
  refusal = twice.refuse();
  CHECK_THAT(refusal.message, ContainsSubstring("error[RB074]: entry \"torch/x\" appears twice"));
  CHECK(refusal.left.empty());

  WheelFolder both;
  both.make({{"torch/x", "file"}, {"torch/x/y", "below it"}});
  CHECK_THAT(both.refuse().message, ContainsSubstring("error[RB074]: entry \"torch/x\" is both a file and a folder"));
}

TEST_CASE("an archive that can be read in two ways is refused", "[provision][B75]") {
  WheelFolder renamed;
  renamed.make({{"torch/good.py", "x"}});
  patch_file(renamed.wheel(), "torch/good.py", "torch/evil.py");
  Refusal refusal = renamed.refuse();
  CHECK_THAT(refusal.message,
             ContainsSubstring("error[RB075]") && ContainsSubstring("local header (\"torch/evil.py\")"));
  CHECK(refusal.left.empty());

  WheelFolder stacked;
  stacked.make({{"torch/good.py", "x"}});
  write_file(stacked.wheel(), read_file(stacked.wheel()) + read_file(stacked.wheel()));
  CHECK_THAT(stacked.refuse().message, ContainsSubstring("error[RB075]"));

  WheelFolder led;
  led.make({{"torch/good.py", "x"}});
  write_file(led.wheel(), "#!/bin/sh\n" + read_file(led.wheel()));
  CHECK_THAT(led.refuse().message, ContainsSubstring("error[RB075]"));

  WheelFolder cut;
  cut.make({{"torch/good.py", std::string(100'000, 'x')}});
  const std::string bytes = read_file(cut.wheel());
  write_file(cut.wheel(), bytes.substr(0, bytes.size() - 40));
  refusal = cut.refuse();
  CHECK_THAT(refusal.message, ContainsSubstring("error[RB075]: it is no complete zip archive"));
  CHECK(refusal.left.empty());
}

TEST_CASE("sizes of 64 bits that no file can have are refused, whatever they add up to", "[provision][B75]") {
  WheelFolder wheels;
  const std::uint64_t packed_bytes = GENERATE(std::uint64_t{1} << 62, ~std::uint64_t{0} >> 1, ~std::uint64_t{0});
  std::filesystem::create_directories(wheels.wheel().parent_path());
  write_file(wheels.wheel(), zip64_of_one_entry("x", packed_bytes));
  CHECK(wheels.refuse().message ==
        "torch.whl: error[RB075]: entry \"x\" lies outside the archive; nothing was extracted");

  write_file(wheels.wheel(), zip64_of_one_entry("x", 0));
  CHECK(wheels.refuse().message == "torch.whl: error[RB076]: it has no RECORD; nothing was extracted");
}

TEST_CASE("cutting a wheel at any length never unpacks it", "[provision][B75]") {
  WheelFolder whole;
  whole.make({{"torch/a", "aaaa"}, {"torch/b", "bbbb"}});
  const std::string bytes = read_file(whole.wheel());
  for (std::size_t length = 0; length < bytes.size(); length += 7) {
    write_file(whole.wheel(), bytes.substr(0, length));
    const Refusal refusal = whole.refuse();
    INFO(length);
    CHECK_THAT(refusal.message, ContainsSubstring("error[RB07"));
    CHECK(refusal.left.empty());
  }
}

TEST_CASE("a wheel without RECORD, or with content RECORD does not know, is refused", "[provision][B76]") {
  WheelFolder missing;
  std::filesystem::create_directories(missing.wheel().parent_path());
  write_zip(missing.wheel(), {{"torch/x", "x"}});
  Refusal refusal = missing.refuse();
  CHECK(refusal.message == "torch.whl: error[RB076]: it has no RECORD; nothing was extracted");
  CHECK(refusal.left.empty());

  WheelFolder wrong;
  write_zip((std::filesystem::create_directories(wrong.wheel().parent_path()), wrong.wheel()),
            {{"torch/x", "changed"},
             {"torch-1.0.dist-info/RECORD", record_line({"torch/x", "original"}) + "torch-1.0.dist-info/RECORD,,\n"}});
  refusal = wrong.refuse();
  CHECK_THAT(refusal.message, ContainsSubstring("error[RB076]: entry \"torch/x\": RECORD says sha256="));
  CHECK(refusal.left == std::vector<std::string>{"torch"});  // the folder, not the file

  WheelFolder unlisted;
  write_zip((std::filesystem::create_directories(unlisted.wheel().parent_path()), unlisted.wheel()),
            {{"torch/x", "x"}, {"torch-1.0.dist-info/RECORD", "torch-1.0.dist-info/RECORD,,\n"}});
  CHECK_THAT(unlisted.refuse().message, ContainsSubstring("entry \"torch/x\" is not listed in RECORD"));
}

TEST_CASE("bombs are refused by ratio, size and number of entries", "[provision][B77]") {
  WheelFolder bomb;
  bomb.make({{"torch/zeros", std::string(8 << 20, '\0')}});
  CHECK_THAT(bomb.refuse().message,
             ContainsSubstring("error[RB077]: it unpacks to") && ContainsSubstring("the limit is 200"));
  CHECK(bomb.refuse().left.empty());

  WheelFolder small;
  small.make({{"torch/a", "aaaa"}, {"torch/b", "bbbb"}});
  CHECK_THAT(small.refuse({.entries = 4}).message, ContainsSubstring("error[RB077]: it has 5 entries, the limit is 4"));
  CHECK_THAT(small.refuse({.size_bytes = 100}).message,
             ContainsSubstring("error[RB077]: it unpacks to more than 100 bytes"));
  CHECK(small.refuse({.entries = 5}).message == "nothing was thrown");
}

TEST_CASE("names that differ only in case are refused, also as folders", "[provision][B78]") {
  WheelFolder files;
  files.make({{"torch/Name", "1"}, {"torch/name", "2"}});
  CHECK_THAT(files.refuse().message,
             ContainsSubstring("error[RB078]: \"torch/Name\" and \"torch/name\" differ only in case"));
  CHECK(files.refuse().left.empty());

  WheelFolder folders;
  folders.make({{"torch/x", "1"}, {"Torch/y", "2"}});
  CHECK_THAT(folders.refuse().message, ContainsSubstring("error[RB078]: \"torch\" and \"Torch\" differ only in case"));
}

TEST_CASE("a CPU stack takes the libraries that need no GPU, headers and metadata", "[provision]") {
  CHECK(is_wanted("torch/lib/libtorch_cpu.so", false));
  CHECK(is_wanted("torch/lib/libgomp-a34b3233.so.1", false));
  CHECK(is_wanted("torch/include/ATen/ATen.h", false));
  CHECK(is_wanted("torch/version.py", false));
  CHECK(is_wanted("torch-2.9.0.dist-info/METADATA", false));
  CHECK(is_wanted("nvidia/cuda_runtime/lib/libcudart.so.12", false));
  CHECK_FALSE(is_wanted("torch/lib/libtorch_cuda.so", false));
  CHECK(is_wanted("torch/lib/libtorch_cuda.so", true));
  CHECK_FALSE(is_wanted("nvidia/cuda_runtime/include/cuda_runtime.h", false));
  CHECK(is_wanted("nvidia/cuda_runtime/include/cuda_runtime.h", true));
  CHECK(is_wanted("nvidia/cuda_nvcc/include/crt/host_defines.h", true));
  CHECK_FALSE(is_wanted("nvidia/cuda_nvcc/include/crt/host_defines.h", false));
  CHECK_FALSE(is_wanted("nvidia/cuda_nvcc/bin/ptxas", true));
  CHECK_FALSE(is_wanted("nvidia/cuda_nvcc/nvvm/lib64/libnvvm.so", true));
  CHECK_FALSE(is_wanted("torch/lib/libtorch_python.so", true));
  CHECK_FALSE(is_wanted("torch/nn/modules/linear.py", true));
  CHECK_FALSE(is_wanted("torch/bin/protoc", true));
}

TEST_CASE("what only a GPU uses, and what only Python uses, is told by the beginning of its name", "[provision]") {
  for (const char* name :
       {"libtorch_cuda_linalg.so", "libc10_cuda.so", "libcaffe2_nvrtc.so", "libtorch_nvshmem.so", "libcudnn.so.9",
        "libnccl.so.2", "libcublasLt.so.12", "libcufft.so.11", "libcusparse.so.12", "libcusolver.so.11"}) {
    CAPTURE(name);
    CHECK_FALSE(is_wanted(std::string("torch/lib/") + name, false));
    CHECK(is_wanted(std::string("torch/lib/") + name, true));
  }
  for (const char* name :
       {"torch/lib/libshm.so", "torch/lib/libtorch_python.so", "torch/lib/notes.txt", "torch/__init__.py", "torch/lib/",
        "nvidia/__init__.py", "nvidia/cudnn/lib/x.py", "functorch/x.so", "plain.so", "nvidia/cuda_nvcc/lib/x.so",
        "torch/includes/x.h", "other/torch/lib/x.so"}) {
    CAPTURE(name);
    CHECK_FALSE(is_wanted(name, true));
    CHECK_FALSE(is_wanted(name, false));
  }
  for (const char* name : {"torch-2.9.0.dist-info/RECORD", "torch/lib/libc10.so", "torch/include/x/y.h",
                           "nvidia/cudnn/lib/libcudnn.so.9"}) {
    CAPTURE(name);
    CHECK(is_wanted(name, true));
    CHECK(is_wanted(name, false));
  }
  CHECK_FALSE(is_wanted("nvidia/cudnn/lib/notes.txt", false));
  CHECK_FALSE(is_wanted("nvidia/cudnn/bin/x.so", false));
  CHECK(is_wanted("nvidia/cudnn/bin/x", true));
}

TEST_CASE("RECORD is CSV: names with commas and quotes stand in quotes, lines may end with a carriage return",
          "[provision][B76]") {
  const TemporaryFolder folder;
  const auto hash_of = [](const std::string& content) {
    Sha256 sha;
    sha.update(content);
    return "sha256=" + to_base64url(sha.finish());
  };
  const std::string info = "torch-1.0.dist-info/";
  const std::string record = "\"torch/a,\"\"b\"\".py\"," + hash_of("one") + ",3\r\ntorch/plain," + hash_of("two") +
                             ",3\r\n" + info + "RECORD,,\r\n";
  write_zip(folder.path / "t.whl", {{"torch/a,\"b\".py", "one"},
                                    {"torch/plain", "two"},
                                    {info + "RECORD", record},
                                    {info + "RECORD.jws", "signature"},
                                    {info + "RECORD.p7s", "signature"}});
  std::vector<std::pair<std::int64_t, std::int64_t>> progress;
  const auto files = unpack_wheel(
      folder.path / "t.whl", folder.path / "site", [](std::string_view) { return true; },
      [&](std::int64_t done, std::int64_t total) { progress.emplace_back(done, total); });
  REQUIRE(files.size() == 5);
  CHECK(files[0].path == "torch/a,\"b\".py");
  const auto total = static_cast<std::int64_t>(6 + record.size() + 18);
  CHECK(progress.front() == std::pair<std::int64_t, std::int64_t>(3, total));
  CHECK(progress.back() == std::pair(total, total));
  // What is there already is not overwritten.
  CHECK_THAT(message_of<ProvisionError>([&] {
               unpack_wheel(folder.path / "t.whl", folder.path / "site", [](std::string_view) { return true; }, {});
             }),
             ContainsSubstring(".py: cannot be written: File exists"));
}

TEST_CASE("a wheel has one RECORD, in its metadata folder", "[provision][B76]") {
  const auto message_with = [](const std::vector<std::string>& records) {
    const TemporaryFolder folder;
    std::vector<ArchiveEntry> entries;
    for (const std::string& name : records) entries.push_back({name, "x,,\n"});
    write_zip(folder.path / "t.whl", entries);
    return message_of<ProvisionError>(
        [&] { unpack_wheel(folder.path / "t.whl", folder.path / "site", [](std::string_view) { return false; }, {}); });
  };
  CHECK(message_with({"a-1.dist-info/RECORD"}) == "nothing was thrown");
  CHECK(message_with({"a-1.dist-info/RECORD", "b-1.dist-info/RECORD"}) ==
        "t.whl: error[RB076]: it has two RECORD files; nothing was extracted");
  CHECK(message_with({"a-1.dist-info/RECORD", "x/b-1.dist-info/RECORD"}) == "nothing was thrown");
  CHECK(message_with({"x/b-1.dist-info/RECORD"}) == "t.whl: error[RB076]: it has no RECORD; nothing was extracted");
}
