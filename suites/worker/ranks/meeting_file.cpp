#include "suites/worker/ranks/meeting_file.hpp"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <thread>

#include <unistd.h>

namespace reprobench {
namespace {

constexpr std::chrono::milliseconds kBetweenLooksAtFile{2};

[[noreturn]] void fail(const std::filesystem::path& file, const std::string& why) {
  throw std::runtime_error(file.filename().string() + ": " + why);
}

}  // namespace

void leave_for_ranks(const std::filesystem::path& file, const std::string& bytes) {
  std::filesystem::path written = file;
  written += "." + std::to_string(getpid());
  {
    std::ofstream out(written, std::ios::binary | std::ios::trunc);
    out << bytes;
    if (!out.flush()) fail(written, std::strerror(errno));
  }
  // link() and not rename(): it replaces nothing.
  const int linked = link(written.c_str(), file.c_str());
  const std::string why = std::strerror(errno);
  std::error_code unremoved;
  std::filesystem::remove(written, unremoved);
  if (linked != 0) fail(file, why);
}

std::string take_from_rank_0(const std::filesystem::path& file, std::size_t size, std::chrono::milliseconds timeout) {
  const auto until = std::chrono::steady_clock::now() + timeout;
  for (;;) {
    std::ifstream in(file, std::ios::binary);
    if (in) {
      std::string bytes{std::istreambuf_iterator<char>(in), {}};
      if (bytes.size() != size) {
        fail(file, "it has " + std::to_string(bytes.size()) + " bytes instead of " + std::to_string(size));
      }
      return bytes;
    }
    if (std::chrono::steady_clock::now() >= until) {
      fail(file, "rank 0 left none in " + std::to_string(timeout.count()) + " ms");
    }
    std::this_thread::sleep_for(kBetweenLooksAtFile);
  }
}

}  // namespace reprobench
