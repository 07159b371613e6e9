#include "matrix/contract/outcome.hpp"

namespace reprobench {

Side side_of(AttemptEnd end) {
  switch (end) {
    case AttemptEnd::completed:
      return Side::none;
    case AttemptEnd::nonzero:
    case AttemptEnd::crash:
    case AttemptEnd::cuda_oom:
    case AttemptEnd::host_oom:
    case AttemptEnd::disk_limit:
    case AttemptEnd::worker_error:
    case AttemptEnd::contract:
    case AttemptEnd::leaked:
    case AttemptEnd::timeout:
    case AttemptEnd::hang:
    case AttemptEnd::xid:
      return Side::product;
    case AttemptEnd::launch:
    case AttemptEnd::store:
    case AttemptEnd::lost:
    case AttemptEnd::gpu_hw:
      return Side::infra;
    case AttemptEnd::interrupted:
      return Side::user;
  }
  return Side::infra;
}

}  // namespace reprobench
