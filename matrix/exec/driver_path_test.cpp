#include "matrix/exec/driver_path.hpp"

#include <fstream>

#include "ci/catch.hpp"
#include "ci/temporary.hpp"
#include "matrix/exec/attempt_environment.hpp"
#include "matrix/exec/enclosure/spine.hpp"

namespace reprobench {
namespace {

TEST_CASE("a worker with a GPU is told of the driver that only LD_LIBRARY_PATH finds", "[exec][gpu]") {
  const TemporaryFolder folder;
  const TemporaryVariable searched("LD_LIBRARY_PATH", "/nowhere:" + folder.path.string());
  CellRequest request;
  request.knobs = with_defaults({});
  const auto path_of = [&](const std::vector<GpuFacts>& gpus, const std::map<std::string, std::string>& of_stack,
                           const std::optional<Enclosure>& inside = {}) {
    const WorkerCommand worker{.command = {}, .arguments = {}, .environment = of_stack, .enclosure = inside};
    const auto environment = attempt_environment(request, "/attempt", worker, gpus);
    const auto found = environment.find("LD_LIBRARY_PATH");
    return found == environment.end() ? std::string("unset") : found->second;
  };
  CHECK(path_of({GpuFacts{}}, {}) == "unset");
  std::ofstream(folder.path / "libcuda.so.1") << "\x7f"
                                                 "ELF\x02";
  CHECK(path_of({GpuFacts{}}, {}) == folder.path.string());
  CHECK(path_of({GpuFacts{}}, {{"LD_LIBRARY_PATH", "/stack/lib"}}) == "/stack/lib:" + folder.path.string());
  CHECK(path_of({}, {}) == "unset");
  // Inside an enclosure no folder of the host is in reach but the one where the driver is handed in.
  Enclosure enclosure;
  CHECK(path_of({GpuFacts{}}, {}, enclosure) == "unset");
  enclosure.gpu.libraries = {folder.path / "libcuda.so.1"};
  CHECK(path_of({GpuFacts{}}, {{"LD_LIBRARY_PATH", "/opt/torch/lib"}}, enclosure) ==
        std::string(kDriverPlace) + ":/opt/torch/lib");
  CHECK(path_of({}, {}, enclosure) == "unset");
}

}  // namespace
}  // namespace reprobench
