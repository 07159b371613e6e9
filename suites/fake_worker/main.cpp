// reprobench-fake-worker: a worker without a framework, which behaves well or badly on request.
//
//   reprobench-fake-worker describe
//   reprobench-fake-worker run REQUEST [--do BEHAVIOUR | --script FILE]      (behaviour.hpp)
//     [--loaded PATH=BUILD_ID ...]      libraries that it reports as mapped
//
// Other arguments of `run`, such as a real worker's `--data DIR`, are accepted and ignored.
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <vector>

#include "matrix/contract/capability.hpp"
#include "matrix/contract/version.hpp"
#include "suites/fake_worker/attempt.hpp"

namespace reprobench {
namespace {

constexpr int kUsage = 2;

std::string read_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw ContractError("cannot read " + path);
  return {std::istreambuf_iterator<char>(file), {}};
}

Capability capability() {
  Capability capability;
  capability.torch_version = "fake";
  capability.devices = {"cpu"};
  for (const Knob& knob : knobs()) {
    capability.knobs.push_back({std::string(knob.name), {knob.values.begin(), knob.values.end()}, ""});
  }
  capability.workloads = {{"mlp", "numbers made up, nothing trained", {{"default", 101'770, 32}}}};
  capability.fingerprint = fake_fingerprint("fake");
  return capability;
}

Behaviour chosen_behaviour(const std::vector<std::string>& arguments, const CellRequest& request) {
  for (std::size_t i = 2; i + 1 < arguments.size(); ++i) {
    if (arguments[i] == "--do") return Behaviour(arguments[i + 1]);
    if (arguments[i] == "--script") return behaviour_from_script(read_text(arguments[i + 1]), request);
  }
  return Behaviour("ok");
}

std::vector<MappedLibrary> loaded_libraries(const std::vector<std::string>& arguments) {
  std::vector<MappedLibrary> libraries;
  for (std::size_t i = 2; i + 1 < arguments.size(); ++i) {
    if (arguments[i] != "--loaded") continue;
    const std::string& library = arguments[i + 1];
    const std::size_t equals = library.find('=');
    libraries.push_back({library.substr(0, equals), equals == std::string::npos ? "" : library.substr(equals + 1)});
  }
  return libraries;
}

int run(const std::vector<std::string>& arguments) {
  const CellRequest request = request_from_json(nlohmann::json::parse(read_text(arguments[1])));
  const auto folder = std::filesystem::absolute(arguments[1]).parent_path();
  return run_attempt(request, chosen_behaviour(arguments, request).of_segment(request).of_rank(request.rank), folder,
                     loaded_libraries(arguments));
}

}  // namespace
}  // namespace reprobench

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  try {
    if (arguments.size() == 1 && arguments[0] == "describe") {
      std::cout << to_json(reprobench::capability()).dump(1) << '\n';
      return 0;
    }
    if (arguments.size() >= 2 && arguments[0] == "run") return reprobench::run(arguments);
  } catch (const std::exception& error) {
    std::cerr << "reprobench-fake-worker: " << error.what() << '\n';
    return reprobench::kUsage;
  }
  std::cerr << "usage: reprobench-fake-worker describe | run REQUEST [--do BEHAVIOUR | --script FILE]\n";
  return reprobench::kUsage;
}
