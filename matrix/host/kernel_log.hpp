// Xids in the kernel's log: the fallback if NVML offers no events. Reading the log may not be permitted; then there are
// none.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace reprobench {

struct KernelXid {
  std::string pci;  // "0000:3b:00"
  int number = 0;
};

// "NVRM: Xid (PCI:0000:3b:00): 79, pid=1234, GPU has fallen off the bus." with anything before it.
std::optional<KernelXid> parse_kernel_xid(std::string_view line);

// NVML's "00000000:3B:00.0" in the kernel's form.
std::string kernel_pci(const std::string& nvml_bus_id);

class KernelLog {
 public:
  // `path` is /dev/kmsg. Reading begins at its present end.
  explicit KernelLog(const std::string& path);
  ~KernelLog();
  KernelLog(const KernelLog&) = delete;
  KernelLog& operator=(const KernelLog&) = delete;

  // The Xids since the last call. Never waits.
  std::vector<KernelXid> new_xids();

 private:
  int fd_ = -1;
  std::string begun_;  // a line that is not complete yet
};

}  // namespace reprobench
