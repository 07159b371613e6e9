#include "matrix/exec/enclosed_command.hpp"

#include <algorithm>

#include "ci/catch.hpp"

namespace reprobench {
namespace {

using Command = std::vector<std::string>;
using Paths = std::vector<std::filesystem::path>;

const Enclosure kOfImage{
    .program = "/bin/enclosure", .shepherd = "/bin/shepherd", .root = "/images/a", .readable = {"/worker", "/data"}};

TEST_CASE("an enclosed command names the root, what is read, what is written, and then the command", "[exec]") {
  CHECK(
      enclosed_command(kOfImage, {.readable = {"/weights"}, .writable = {"/run/attempt/."}}, 0, {"/worker/w", "run"}) ==
      Command{"/bin/enclosure", "--root", "/images/a", "--read", "/bin/shepherd", "--read", "/worker", "--read",
              "/data", "--read", "/weights", "--write", "/run/attempt/", "--", "/worker/w", "run"});
  CHECK(enclosed_command(kOfImage, {}, 12, {"/w"}) == Command{"/bin/enclosure", "--root", "/images/a", "--read",
                                                              "/bin/shepherd", "--read", "/worker", "--read", "/data",
                                                              "--network-of", "12", "--", "/w"});
}

TEST_CASE("a command that may use the GPUs gets their nodes and the driver's libraries", "[exec]") {
  Enclosure enclosure = kOfImage;
  enclosure.readable.clear();
  enclosure.gpu = {.devices = {"/dev/nvidia0", "/dev/nvidiactl"}, .libraries = {"/usr/lib/libcuda.so.1"}};
  CHECK(enclosed_command(enclosure, {}, 0, {"/w"}) ==
        Command{"/bin/enclosure", "--root", "/images/a", "--read", "/bin/shepherd", "--device", "/dev/nvidia0",
                "--device", "/dev/nvidiactl", "--driver", "/usr/lib/libcuda.so.1", "--", "/w"});
}

TEST_CASE("a rank may write to its attempt and read every file that its request names", "[exec]") {
  CellRequest request;
  CHECK(paths_of_rank(request, "/run/a/rank-0").writable == Paths{"/run/a"});
  CHECK(paths_of_rank(request, "/run/a/rank-0").readable.empty());
  request.workload.data_file = "/files/data";
  request.workload.weights_file = "/files/index.json";
  request.workload.weights_shards = {"one.safetensors", "two.safetensors"};
  request.workload.tensors_file = "/files/tensors";
  request.workload.package_file = "/files/package";
  request.checkpoint = Checkpointing{.folder = "/run/a/checkpoints"};
  request.replay.emplace().from_state = "/other/state";
  request.replay->substituted_inputs = SubstitutedInputs{"/other/values", 1, {}};
  const EnclosedPaths paths = paths_of_rank(request, "/run/a/resumed/rank-0");
  CHECK(paths.writable == Paths{"/run/a/resumed", "/run/a"});
  CHECK(paths.readable == Paths{"/files/data", "/files/index.json", "/files/tensors", "/files/package",
                                "/files/one.safetensors", "/files/two.safetensors", "/other/state", "/other/values"});
}

TEST_CASE("an enclosure without an image has programs and libraries of this host and nothing else of it", "[exec]") {
  const Enclosure enclosure = host_enclosure("/opt/bin/shepherd");
  CHECK(enclosure.program == "/opt/bin/reprobench-enclosure");
  CHECK(enclosure.shepherd == "/opt/bin/shepherd");
  CHECK(enclosure.root.empty());
  for (const std::filesystem::path& path : enclosure.readable) {
    const bool is_known = path == "/usr" || path == "/bin" || path == "/lib" || path == "/lib64" ||
                          path == "/etc/ld.so.cache" || path == "/etc/alternatives";
    CHECK(is_known);
  }
  CHECK(enclosed_command(enclosure, {}, 0, {"/w"})[1] == "--read");  // no --root
}

TEST_CASE("a helper is enclosed with the shepherd before it, and without an image it stays as it is", "[exec]") {
  SubprocessOptions options;
  enclose(options, std::nullopt, {});
  CHECK(options.enclosure.empty());
  CHECK(options.shepherd.empty());
  enclose(options, kOfImage, {.readable = {"/question"}, .writable = {}});
  CHECK(options.shepherd == "/bin/shepherd");
  CHECK(options.enclosure.back() == "--");
  CHECK(std::count(options.enclosure.begin(), options.enclosure.end(), "/question") == 1);
}

}  // namespace
}  // namespace reprobench
