#include "matrix/host/kernel_log.hpp"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <charconv>

#include <fcntl.h>
#include <unistd.h>

namespace reprobench {

std::optional<KernelXid> parse_kernel_xid(std::string_view line) {
  constexpr std::string_view kBegin = "NVRM: Xid (PCI:";
  const std::size_t begin = line.find(kBegin);
  if (begin == std::string_view::npos) return std::nullopt;
  line.remove_prefix(begin + kBegin.size());
  const std::size_t bracket = line.find("): ");
  if (bracket == std::string_view::npos) return std::nullopt;
  KernelXid xid{std::string(line.substr(0, bracket)), 0};
  line.remove_prefix(bracket + 3);
  if (std::from_chars(line.data(), line.data() + line.size(), xid.number).ec != std::errc()) return std::nullopt;
  return xid;
}

// The domain has eight digits there and four here, and the function is not named.
std::string kernel_pci(const std::string& nvml_bus_id) {
  std::string pci = nvml_bus_id.substr(0, nvml_bus_id.rfind('.'));
  const std::size_t colon = pci.find(':');
  if (colon != std::string::npos && colon > 4) pci = pci.substr(colon - 4);
  std::transform(pci.begin(), pci.end(), pci.begin(), [](unsigned char c) { return std::tolower(c); });
  return pci;
}

KernelLog::KernelLog(const std::string& path) : fd_(open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC)) {
  if (fd_ >= 0) lseek(fd_, 0, SEEK_END);
}

KernelLog::~KernelLog() {
  if (fd_ >= 0) close(fd_);
}

std::vector<KernelXid> KernelLog::new_xids() {
  std::vector<KernelXid> found;
  char buffer[8192];
  while (fd_ >= 0) {
    const ssize_t count = read(fd_, buffer, sizeof buffer);
    if (count < 0 && errno == EPIPE) continue;  // records were overwritten before they were read; go on with the next
    if (count <= 0) break;
    begun_.append(buffer, static_cast<std::size_t>(count));
    for (std::size_t end = begun_.find('\n'); end != std::string::npos; end = begun_.find('\n')) {
      if (auto xid = parse_kernel_xid(std::string_view(begun_).substr(0, end))) found.push_back(std::move(*xid));
      begun_.erase(0, end + 1);
    }
  }
  return found;
}

}  // namespace reprobench
