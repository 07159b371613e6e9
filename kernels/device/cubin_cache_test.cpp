#include "kernels/device/cubin_cache.hpp"

#include <fstream>

#include <unistd.h>

#include "ci/catch.hpp"
#include "ci/temporary.hpp"
#include "kernels/device/emulated_device.hpp"
#include "kernels/philox/philox_kernels.hpp"

namespace reprobench {
namespace {

namespace fs = std::filesystem;

constexpr KernelHeader kHeader[] = {{"kernels/a.hpp", "// one"}};
constexpr KernelHeader kOtherHeader[] = {{"kernels/a.hpp", "// two"}};
const KernelSource kSource{"demo", "\nRB_CHECK_KERNEL(demo, Demo);\n", kHeader, {}};

std::string read_text(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

void write_text(const fs::path& file, const std::string& text) { std::ofstream(file, std::ios::binary) << text; }

TEST_CASE("a kernel is compiled once, and read from the cache after that", "[device]") {
  const TemporaryFolder folder;
  const Nvrtc nvrtc(REPROBENCH_FAKE_NVRTC_LIBRARY);
  const int before = EmulatedDevice::compilations();
  const CachedCubin first = CubinCache(folder.path).get(nvrtc, kSource, 90);
  const CachedCubin second = CubinCache(folder.path).get(nvrtc, kSource, 90);
  CHECK(first.outcome == CacheOutcome::compiled);
  CHECK(first.not_stored.empty());
  CHECK(second.outcome == CacheOutcome::hit);
  CHECK(second.cubin == first.cubin);
  CHECK(EmulatedDevice::compilations() == before + 1);
  CHECK(std::distance(fs::directory_iterator(folder.path), {}) == 1);  // nothing temporary is left
}

TEST_CASE("architecture, source and headers each have entries of their own", "[device]") {
  const CubinCache cache("folder");
  const Nvrtc nvrtc(REPROBENCH_FAKE_NVRTC_LIBRARY);
  const fs::path path = cache.entry_path(nvrtc, kSource, 90);
  CHECK(cache.entry_path(nvrtc, kSource, 80) != path);
  CHECK(cache.entry_path(nvrtc, {"demo", "// other", kHeader, {}}, 90) != path);
  CHECK(cache.entry_path(nvrtc, {"demo", kSource.text, kOtherHeader, {}}, 90) != path);
  CHECK(cache.entry_path(nvrtc, kSource, 90) == path);
  CHECK(path.filename().string().find("demo-sm_90-nvrtc12.8-") == 0);
}

TEST_CASE("a truncated, altered, empty or foreign entry is compiled again and replaced", "[device]") {
  const TemporaryFolder folder;
  const CubinCache cache(folder.path);
  const Nvrtc nvrtc(REPROBENCH_FAKE_NVRTC_LIBRARY);
  const std::string cubin = cache.get(nvrtc, kSource, 90).cubin;
  const fs::path entry = cache.entry_path(nvrtc, kSource, 90);
  const std::string stored = read_text(entry);
  std::string altered = stored;
  altered[altered.size() - 2] ^= 1;
  const std::string damages[] = {stored.substr(0, stored.size() - 1),
                                 stored.substr(0, stored.find('\n') + 1),
                                 stored.substr(0, 5),
                                 altered,
                                 "",
                                 stored + " ",
                                 "another file\n" + cubin};
  for (const std::string& damaged : damages) {
    CAPTURE(damaged);
    write_text(entry, damaged);
    const CachedCubin again = cache.get(nvrtc, kSource, 90);
    CHECK(again.outcome == CacheOutcome::replaced);
    CHECK(again.cubin == cubin);
    CHECK(read_text(entry) == stored);
    CHECK(cache.get(nvrtc, kSource, 90).outcome == CacheOutcome::hit);
  }
}

TEST_CASE("a folder that cannot be written costs compilations, and the reason is told", "[device]") {
  const TemporaryFolder folder;
  write_text(folder.path / "file", "a file where the folder should be");
  const Nvrtc nvrtc(REPROBENCH_FAKE_NVRTC_LIBRARY);
  const CachedCubin result = CubinCache(folder.path / "file" / "cubins").get(nvrtc, kSource, 90);
  CHECK(result.outcome == CacheOutcome::compiled);
  CHECK_FALSE(result.cubin.empty());
  CHECK_FALSE(result.not_stored.empty());
}

TEST_CASE("a device loads a module once and tells where it came from", "[device]") {
  const TemporaryFolder folder;
  for (const CacheOutcome outcome : {CacheOutcome::compiled, CacheOutcome::hit}) {
    EmulatedDevice device("compute=87", folder.path.string());
    device.kernels().resident_blocks<PhiloxBits>();
    device.kernels().resident_blocks<PhiloxBell>();
    const auto loaded = device.kernels().loaded();
    REQUIRE(loaded.size() == 1);
    CHECK(loaded[0].module == "philox");
    CHECK(loaded[0].architecture == 86);
    CHECK(loaded[0].outcome == outcome);
  }
}

}  // namespace
}  // namespace reprobench
