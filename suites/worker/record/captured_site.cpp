#include "suites/worker/record/captured_site.hpp"

#include <utility>

namespace reprobench {

CapturedSite::CapturedSite(const OperatorSite& site, std::filesystem::path path)
    : site_(site), path_(std::move(path)), subgraph_(site.subgraph) {}

void CapturedSite::started(const OperatorCall& call, std::int64_t step, std::int64_t index) {
  if (step != site_.step) return;
  subgraph_.started(call, index);
  if (index == site_.index) running_ = std::make_unique<OperatorCapture>(call, subgraph_);
}

void CapturedSite::ended(const OperatorCall& call, std::int64_t step, std::int64_t index) {
  if (step != site_.step) return;
  subgraph_.ended(call, index);
  if (index != site_.index) return;
  running_->finish(call, subgraph_, path_);
  running_.reset();
  is_met_ = true;
}

}  // namespace reprobench
