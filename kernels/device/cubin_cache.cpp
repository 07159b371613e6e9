#include "kernels/device/cubin_cache.hpp"

#include <cstring>
#include <fstream>
#include <optional>
#include <system_error>

#include <unistd.h>

#include "kernels/digest/digest.hpp"

namespace reprobench {
namespace {

namespace fs = std::filesystem;

Digest digest_of(std::string_view text) { return DigestBuilder().append(text).finish(); }

std::string header_of(std::string_view cubin) {
  return "reprobench-cubin 1 " + to_hex(digest_of(cubin)) + " " + std::to_string(cubin.size()) + "\n";
}

std::string read_all(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

// Nothing if the entry is not what was written.
std::optional<std::string> checked_cubin(const std::string& entry) {
  const std::size_t end = entry.find('\n');
  if (end == std::string::npos) return std::nullopt;
  std::string cubin = entry.substr(end + 1);
  if (cubin.empty() || entry.substr(0, end + 1) != header_of(cubin)) return std::nullopt;
  return cubin;
}

// An empty text, or why not.
std::string store(const fs::path& file, const std::string& cubin) {
  std::error_code error;
  fs::create_directories(file.parent_path(), error);
  const fs::path temporary = file.string() + "." + std::to_string(getpid()) + ".tmp";
  {
    std::ofstream stream(temporary, std::ios::binary);
    stream << header_of(cubin) << cubin;
    stream.close();
    if (!stream) {
      fs::remove(temporary, error);
      return temporary.string() + ": " + std::strerror(errno);
    }
  }
  fs::rename(temporary, file, error);
  if (!error) return {};
  const std::string reason = file.string() + ": " + error.message();
  fs::remove(temporary, error);
  return reason;
}

}  // namespace

fs::path CubinCache::entry_path(const Nvrtc& nvrtc, const KernelSource& source, int architecture) const {
  DigestBuilder key;
  key.append(nvrtc.version()).append(source.module).append(source.text).append(source.headers.size());
  for (const KernelHeader& header : source.headers) key.append(header.name).append(header.text);
  for (const std::string& option : compile_options(architecture)) key.append(option);
  return folder_ / (std::string(source.module) + "-sm_" + std::to_string(architecture) + "-nvrtc" + nvrtc.version() +
                    "-" + to_hex(key.finish()) + ".cubin");
}

CachedCubin CubinCache::get(const Nvrtc& nvrtc, const KernelSource& source, int architecture) const {
  if (folder_.empty()) return {nvrtc.compile(source, architecture).cubin, CacheOutcome::compiled, {}};
  const fs::path file = entry_path(nvrtc, source, architecture);
  std::error_code error;
  const bool exists = fs::exists(file, error);
  if (exists) {
    if (auto cubin = checked_cubin(read_all(file))) return {std::move(*cubin), CacheOutcome::hit, {}};
  }
  CachedCubin result{
      nvrtc.compile(source, architecture).cubin, exists ? CacheOutcome::replaced : CacheOutcome::compiled, {}};
  result.not_stored = store(file, result.cubin);
  return result;
}

}  // namespace reprobench
