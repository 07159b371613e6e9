// The address at which the first rank of an attempt opens a TCP store for ranks that meet there: MASTER_ADDR and
// MASTER_PORT.
#pragma once

#include <string>

namespace reprobench {

struct MeetingPoint {
  std::string address = "127.0.0.1";
  int port = 0;                  // 0: a port that is free when the attempt starts
  bool is_open_already = false;  // an outer launcher has the store; then rank 0 joins it like the others
  bool operator==(const MeetingPoint&) const = default;
};

}  // namespace reprobench
