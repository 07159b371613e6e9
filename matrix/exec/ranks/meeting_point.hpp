// Where the first rank of an attempt opens a TCP store, for those that meet there: MASTER_ADDR and MASTER_PORT.
#pragma once

#include <string>

namespace reprobench {

struct MeetingPoint {
  std::string address = "127.0.0.1";
  int port = 0;                  // 0: one that is free when the attempt starts
  bool is_open_already = false;  // an outer launcher holds the store; then rank 0 joins it as the others do
  bool operator==(const MeetingPoint&) const = default;
};

}  // namespace reprobench
