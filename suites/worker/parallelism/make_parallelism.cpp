#include "suites/worker/parallelism/data_parallel.hpp"
#include "suites/worker/parallelism/parallelism.hpp"
#include "suites/worker/parallelism/replicas.hpp"
#include "suites/worker/parallelism/zero.hpp"

namespace reprobench {
namespace {

class Alone final : public Parallelism {
 public:
  Alone(const Layout& layout, TrainState& state) : Parallelism(layout, state) {}
};

}  // namespace

std::unique_ptr<Parallelism> make_parallelism(const Layout& layout, bool overlaps, TrainState& state,
                                              const CellRequest& request, const std::filesystem::path& rank_folder) {
  if (layout.replicas > 1) return std::make_unique<Replicas>(layout, state, request.inject);
  if (layout.ranks == 1) return std::make_unique<Alone>(layout, state);
  if (overlaps) return std::make_unique<OverlappedDataParallel>(layout, state, request, rank_folder);
  switch (state.sharding().stage) {
    case 1:
      return std::make_unique<ZeroStage1>(layout, state, request, rank_folder);
    case 2:
      return std::make_unique<ZeroStage2>(layout, state, request, rank_folder);
    case 3:
      return std::make_unique<ZeroStage3>(layout, state, request, rank_folder);
    default:
      return std::make_unique<DataParallel>(layout, state, request, rank_folder);
  }
}

}  // namespace reprobench
