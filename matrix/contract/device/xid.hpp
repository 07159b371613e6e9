// Who is to blame for an Xid, the driver's error report about one GPU.
//
// Application class: the program caused it and the device stays healthy, so the stack under test is to blame. Device
// class: the device or its driver can no longer be trusted. A number without a row counts as device class.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace reprobench {

enum class XidClass { application, device };

struct Xid {
  int number;
  XidClass kind;
  std::string_view name;
  std::string_view driver_branch;  // the driver in which it is documented so: "R450" means R450 and later
  std::string_view source;
};

std::span<const Xid> xids();

XidClass class_of_xid(int number);

// "Xid 79 (GPU has fallen off the bus)"; a number without a row is called "unlisted".
std::string describe_xid(int number);

}  // namespace reprobench
