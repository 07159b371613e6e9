// A parser with a bug that no seed reaches: it believes a number and reads that far into a table. ci/fuzz.sh must find
// it.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const std::string table(100, 'x');
  const std::string text(reinterpret_cast<const char*>(data), size);
  if (!text.starts_with("step=")) return 0;
  const long long step = std::atoll(text.c_str() + 5);
  [[maybe_unused]] const volatile char read = table.data()[step];
  return 0;
}
