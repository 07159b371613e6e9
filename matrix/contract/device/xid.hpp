// What an Xid, the driver's error report about one GPU, says about who is to blame.
//
// Application class: the program did it and the device stays healthy, so it is the stack under test. Device class: the
// device or its driver is no longer to be trusted; so is every number that no row names.
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
  std::string_view driver_branch;  // in which it is documented so: "R450" means from there on
  std::string_view source;
};

std::span<const Xid> xids();

XidClass class_of_xid(int number);

// "Xid 79 (GPU has fallen off the bus)"; a number without a row is called unlisted.
std::string describe_xid(int number);

}  // namespace reprobench
