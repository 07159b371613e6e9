#include "kernels/device/emulated_device.hpp"

#include <cstdlib>
#include <filesystem>

#include "ci/catch.hpp"
#include "kernels/device/shared_library.hpp"
#include "kernels/philox/philox.hpp"

namespace reprobench {
namespace {

template <class Function>
Function* function_of(const char* library, const char* name) {
  Function* function = nullptr;
  REQUIRE(SharedLibrary(library).bind(name, function));
  return function;
}

// An environment variable, or what stands in for it.
std::string library_of(const char* variable, const char* fake) {
  const char* named = std::getenv(variable);
  return named != nullptr && *named != '\0' ? named : fake;
}

}  // namespace

bool EmulatedDevice::is_emulated() {
  return library_of("REPROBENCH_TEST_CUDA", REPROBENCH_FAKE_CUDA_LIBRARY) == REPROBENCH_FAKE_CUDA_LIBRARY;
}

void EmulatedDevice::script(const std::string& words) {
  if (!is_emulated()) return;
  static auto* const set = function_of<const char*(const char*)>(REPROBENCH_FAKE_CUDA_LIBRARY, "fake_cuda_script");
  REQUIRE(std::string(set(words.c_str())).empty());
}

int EmulatedDevice::compilations() {
  return function_of<int()>(REPROBENCH_FAKE_NVRTC_LIBRARY, "fake_nvrtc_compilations")();
}

EmulatedDevice::EmulatedDevice(const std::string& words, const std::string& cache_folder) {
  script(words);
  context_.emplace(open_cuda_driver(library_of("REPROBENCH_TEST_CUDA", REPROBENCH_FAKE_CUDA_LIBRARY)));
  // A real compiler takes half a second a module, and every test opens the device anew.
  const std::string kept =
      is_emulated() ? cache_folder : (std::filesystem::temp_directory_path() / "reprobench-test-cubins").string();
  kernels_.emplace(*context_, Nvrtc(library_of("REPROBENCH_TEST_NVRTC", REPROBENCH_FAKE_NVRTC_LIBRARY)), kept);
}

std::vector<unsigned char> random_bytes(std::size_t count, std::uint32_t seed) {
  std::vector<unsigned char> bytes(count);
  for (std::size_t i = 0; i < count; ++i) {
    const PhiloxBlock block = philox4x32_10({{static_cast<std::uint32_t>(i / 16), 0, 0, 0}}, {{seed, 0}});
    bytes[i] = static_cast<unsigned char>(block.word[i / 4 % 4] >> 8 * (i % 4));
  }
  return bytes;
}

// A failure that a test left behind is not the next one's.
EmulatedDevice::~EmulatedDevice() { script(""); }

}  // namespace reprobench
