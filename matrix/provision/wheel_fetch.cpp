#include "matrix/provision/wheel_fetch.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <fstream>
#include <map>
#include <mutex>
#include <sstream>
#include <thread>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "matrix/exec/helper_environment.hpp"
#include "matrix/exec/python.hpp"
#include "matrix/provision/provision_error.hpp"
#include "matrix/provision/sha256.hpp"

namespace reprobench {
namespace {

constexpr std::chrono::milliseconds kProgressInterval{200};
constexpr double kBytesPerMb = 1e6;

// Texts that pip prints if the index cannot be reached, whichever of its layers notices.
constexpr std::array<std::string_view, 9> kNetworkTroubles = {
    "NewConnectionError", "Max retries exceeded", "Temporary failure in name resolution",
    "Connection refused", "ConnectTimeout",       "ReadTimeout",
    "Read timed out",     "ProxyError",           "SSLError"};

struct WheelTags {
  std::string abi;
  std::vector<std::string> platforms;
};

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);) parts.push_back(part);
  return parts;
}

// NAME-VERSION[-BUILD]-PYTHON-ABI-PLATFORM.whl (PEP 427); several tags of one kind are joined by dots.
WheelTags tags_of(const std::string& file) {
  const std::vector<std::string> parts = split(file.substr(0, file.size() - 4), '-');
  if (parts.size() < 5) throw ProvisionError(fmt::format("{}: is no wheel name with its five parts", file));
  return {.abi = parts[parts.size() - 2], .platforms = split(parts.back(), '.')};
}

std::int64_t largest_file_bytes(const std::filesystem::path& folder) {
  std::int64_t bytes = 0;
  std::error_code ignored;  // files come and go while pip works; a miss only makes the bar a little late
  for (std::filesystem::recursive_directory_iterator it(folder, ignored), end; it != end; it.increment(ignored)) {
    const auto size = it->file_size(ignored);
    if (!ignored) bytes = std::max(bytes, static_cast<std::int64_t>(size));
  }
  return bytes;
}

// Reports the largest file below a folder as the share of `total_bytes` until it is destroyed.
class DownloadWatch {
 public:
  DownloadWatch(std::filesystem::path folder, std::string phase, std::int64_t total_bytes, const PhaseSink& progress)
      : thread_([this, folder = std::move(folder), phase = std::move(phase), total_bytes, &progress] {
          std::unique_lock lock(mutex_);
          while (!done_.wait_for(lock, kProgressInterval, [this] { return finished_; })) {
            progress(phase,
                     std::min(1.0, static_cast<double>(largest_file_bytes(folder)) / static_cast<double>(total_bytes)));
          }
        }) {}
  ~DownloadWatch() {
    {
      const std::lock_guard lock(mutex_);
      finished_ = true;
    }
    done_.notify_one();
    thread_.join();
  }
  DownloadWatch(const DownloadWatch&) = delete;
  DownloadWatch& operator=(const DownloadWatch&) = delete;

 private:
  std::mutex mutex_;
  std::condition_variable done_;
  bool finished_ = false;
  std::thread thread_;
};

std::string last_line(const std::string& text) {
  const std::vector<std::string> lines = split(text, '\n');
  for (auto line = lines.rbegin(); line != lines.rend(); ++line) {
    if (!line->empty()) return *line;
  }
  return "it printed nothing";
}

// The word after `label` in pip's account of a wrong hash.
std::string word_after(const std::string& text, std::string_view label) {
  const std::size_t at = text.find(label);
  if (at == std::string::npos) return "unknown";
  std::istringstream rest(text.substr(at + label.size()));
  std::string word;
  rest >> word;
  return word;
}

std::string wrong_hash(const LockedWheel& wheel, const std::string& got) {
  return fmt::format("{}: SHA-256 is {}, the lock says {}; the file was removed", wheel.file, got, wheel.sha256);
}

// One sentence for the ways in which pip fails.
[[noreturn]] void throw_pip_failure(const LockedWheel& wheel, const SubprocessResult& result) {
  if (!result.launch_error.empty()) {
    throw ProvisionError(fmt::format("{}: pip could not be started: {}", wheel.file, result.launch_error));
  }
  const std::string text = result.out + "\n" + result.err;
  if (text.find("DO NOT MATCH THE HASHES") != std::string::npos) {
    throw ProvisionError(wrong_hash(wheel, word_after(text, "Got ")));
  }
  if (text.find("No space left on device") != std::string::npos) {
    throw ProvisionError(
        fmt::format("{}: no space left while downloading {:.0f} MB; free some or choose another folder", wheel.file,
                    static_cast<double>(wheel.size_bytes) / kBytesPerMb));
  }
  for (const std::string_view trouble : kNetworkTroubles) {
    if (text.find(trouble) == std::string::npos) continue;
    throw ProvisionError(
        fmt::format("{}: the package index cannot be reached ({}); check the network and pip's "
                    "configuration (`pip config list`), or copy the wheel into the downloads folder",
                    wheel.file, trouble));
  }
  if (text.find("No matching distribution") != std::string::npos) {
    throw ProvisionError(
        fmt::format("{}: the package index pip is configured for has no {} {} with these tags; add an "
                    "index that has it, or copy the wheel into the downloads folder",
                    wheel.file, wheel.distribution, wheel.version));
  }
  throw ProvisionError(fmt::format("{}: pip failed with exit code {}: {}", wheel.file, result.exit_code,
                                   last_line(result.err.empty() ? result.out : result.err)));
}

std::vector<std::string> pip_arguments(const LockedWheel& wheel, const std::string& python,
                                       const std::filesystem::path& requirements, const std::filesystem::path& folder) {
  const WheelTags tags = tags_of(wheel.file);
  std::vector<std::string> command = {"-u",  // its last words are seen when it is killed
                                      "-m",
                                      "pip",
                                      "download",
                                      "--require-hashes",
                                      "--no-deps",
                                      "--only-binary=:all:",
                                      "--no-cache-dir",
                                      "--no-input",
                                      "--progress-bar",
                                      "off",
                                      "--disable-pip-version-check",
                                      "--retries",
                                      "3",
                                      "--implementation",
                                      "cp",
                                      "--python-version",
                                      python,
                                      "--abi",
                                      tags.abi};
  for (const std::string& platform : tags.platforms) command.insert(command.end(), {"--platform", platform});
  command.insert(command.end(), {"--dest", folder.string(), "--requirement", requirements.string()});
  return command;
}

// Variables that say where packages come from, beside pip's own configuration in the home folder.
constexpr std::array<std::string_view, 13> kOfIndexes = {
    "PIP_*",      "NETRC",       "SSL_CERT_*", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "http_proxy", "https_proxy",
    "HTTP_PROXY", "HTTPS_PROXY", "all_proxy",  "ALL_PROXY",          "no_proxy",       "NO_PROXY"};

void fetch_wheel(const std::string& interpreter, const LockedWheel& wheel, const std::string& python,
                 const std::filesystem::path& downloads, const std::filesystem::path& staging,
                 const std::filesystem::path& shepherd, const std::string& phase, const PhaseSink& progress) {
  const std::filesystem::path temporary = staging / "pip";
  const std::filesystem::path arrived = staging / "wheels";
  std::filesystem::remove_all(temporary);
  std::filesystem::remove_all(arrived);
  std::filesystem::create_directories(temporary);
  std::filesystem::create_directories(arrived);
  const std::filesystem::path requirements = staging / "requirements.txt";
  std::ofstream(requirements) << requirement_line(wheel) << '\n';

  SubprocessOptions options = isolated_python(interpreter, pip_arguments(wheel, python, requirements, arrived));
  options.environment->merge(helper_environment(kOfIndexes));
  (*options.environment)["TMPDIR"] = temporary.string();  // where an interrupted download is cleaned up
  options.working_directory = staging.string();
  options.shepherd = shepherd.string();
  SubprocessResult result;
  {
    const DownloadWatch watch(temporary, phase, wheel.size_bytes, progress);
    result = run_subprocess(options);
  }
  if (result.exit_code != 0) throw_pip_failure(wheel, result);
  if (!std::filesystem::exists(arrived / wheel.file)) {
    throw ProvisionError(fmt::format("{}: pip brought another file of {} {} than the lock names", wheel.file,
                                     wheel.distribution, wheel.version));
  }
  require_locked_hash(wheel, arrived / wheel.file);
  std::filesystem::rename(arrived / wheel.file, downloads / wheel.file);
}

// Why a wheel has to be fetched although a file of its name is there; empty for one that is not there or is right.
std::string wrong_content(const LockedWheel& wheel, const std::filesystem::path& file) {
  if (!std::filesystem::exists(file)) return "";
  const std::string got = sha256_of_file(file);
  if (got == wheel.sha256) return "";
  return fmt::format("{}: the file in {} has SHA-256 {}, the lock says {}", wheel.file, file.parent_path().string(),
                     got, wheel.sha256);
}

// pip keeps one temporary copy of the wheel it is downloading.
void require_space(const std::vector<LockedWheel>& missing, const std::filesystem::path& downloads) {
  std::int64_t needed_bytes = 0;
  std::int64_t largest_bytes = 0;
  for (const LockedWheel& wheel : missing) {
    needed_bytes += wheel.size_bytes;
    largest_bytes = std::max(largest_bytes, wheel.size_bytes);
  }
  needed_bytes += largest_bytes;
  const auto available_bytes = static_cast<std::int64_t>(std::filesystem::space(downloads).available);
  if (available_bytes >= needed_bytes) return;
  throw ProvisionError(
      fmt::format("{}: {:.0f} MB are needed for {} wheels and {:.0f} MB are free; free some space or "
                  "choose another folder",
                  downloads.string(), static_cast<double>(needed_bytes) / kBytesPerMb, missing.size(),
                  static_cast<double>(available_bytes) / kBytesPerMb));
}

}  // namespace

std::string find_python_with_pip() {
  if (std::string python = find_python_with("pip"); !python.empty()) return python;
  throw ProvisionError(
      fmt::format("no Python with pip was found (tried {}); install python3-pip or set "
                  "REPROBENCH_PYTHON to a Python that has pip",
                  fmt::join(python_candidates(), ", ")));
}

void require_locked_hash(const LockedWheel& wheel, const std::filesystem::path& file) {
  const std::string got = sha256_of_file(file);
  if (got == wheel.sha256) return;
  std::filesystem::remove(file);
  throw ProvisionError(wrong_hash(wheel, got));
}

void fetch_wheels(const std::vector<LockedWheel>& wheels, const std::string& python,
                  const std::filesystem::path& downloads, const std::filesystem::path& staging,
                  const std::filesystem::path& shepherd, const PhaseSink& progress) {
  std::filesystem::create_directories(downloads);
  std::vector<LockedWheel> missing;
  std::map<std::string, std::string> wrong;  // by file
  for (const LockedWheel& wheel : wheels) {
    progress(fmt::format("check {}", wheel.file), -1);
    if (std::string problem = wrong_content(wheel, downloads / wheel.file); !problem.empty()) {
      wrong.emplace(wheel.file, std::move(problem));
    }
    if (wrong.contains(wheel.file) || !std::filesystem::exists(downloads / wheel.file)) missing.push_back(wheel);
  }
  if (missing.empty()) return;
  require_space(missing, downloads);
  const std::string interpreter = find_python_with_pip();
  for (std::size_t i = 0; i < missing.size(); ++i) {
    const LockedWheel& wheel = missing[i];
    const std::string phase = fmt::format("download {} {} ({} of {}, {:.0f} MB)", wheel.distribution, wheel.version,
                                          i + 1, missing.size(), static_cast<double>(wheel.size_bytes) / kBytesPerMb);
    progress(phase, 0);
    try {
      fetch_wheel(interpreter, wheel, python, downloads, staging, shepherd, phase, progress);
    } catch (const ProvisionError& error) {
      const auto damaged = wrong.find(wheel.file);
      if (damaged == wrong.end()) throw;
      throw ProvisionError(fmt::format("{}; fetching it again failed: {}", damaged->second, error.what()));
    }
  }
}

}  // namespace reprobench
