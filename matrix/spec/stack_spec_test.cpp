#include "matrix/spec/stack_spec.hpp"

#include <cstdlib>
#include <fstream>

#include "ci/catch.hpp"
#include "ci/temporary.hpp"
#include "ci/thrown.hpp"

using namespace reprobench;

namespace {

const std::string kWheelStack = R"(schema: 1
name: torch-2.9.0-cu128
source: wheel
components: {torch: "2.9.0+cu128", cuda: "12.8", cudnn: "9.10.2", nccl: "2.27.5"}
cxx11_abi: 1
cxx_standard: 17
wheel: {python: "3.12", lock: torch-2.9.0-cu128.lock, cpu_wheels: [torch, nvidia-cuda-runtime-cu12]}
)";

std::string stack_error(const std::string& text) {
  return message_of<SpecError>([&] { parse_stack(text, "s.yaml"); });
}

std::string with(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

}  // namespace

TEST_CASE("a wheel stack keeps every component and an absolute path of its lock", "[spec]") {
  const StackSpec stack = parse_stack(kWheelStack, "/repo/matrix/stacks/torch-2.9.0-cu128.yaml");
  CHECK(stack.name == "torch-2.9.0-cu128");
  CHECK(stack.source == StackSource::wheel);
  CHECK(stack.components.at("cudnn") == "9.10.2");
  CHECK(stack.components.size() == 4);
  CHECK(stack.cxx11_abi == 1);
  CHECK(stack.lock_path == "/repo/matrix/stacks/torch-2.9.0-cu128.lock");
  CHECK(stack.cpu_wheels == std::vector<std::string>{"torch", "nvidia-cuda-runtime-cu12"});
  CHECK(stack.text == kWheelStack);
}

TEST_CASE("an unquoted version is refused because it reads as a number", "[spec]") {
  CHECK(stack_error(with(kWheelStack, "\"12.8\"", "12.10")) ==
        "s.yaml:4:42: error[RB022]: version 12.10 must be quoted; unquoted it reads as the number 12.1");
  CHECK(stack_error(with(kWheelStack, "\"2.9.0+cu128\"", "2.9.0+cu128")) ==
        "s.yaml:4:21: error[RB022]: version 2.9.0+cu128 must be quoted");
}

TEST_CASE("a lock outside the stack's folder is refused", "[spec]") {
  CHECK(stack_error(with(kWheelStack, "lock: torch-2.9.0-cu128.lock", "lock: ../../etc/passwd")) ==
        "s.yaml:7:31: error[RB027]: path \"../../etc/passwd\" of `lock` leaves the file's folder; write a path below "
        "the file's folder");
  CHECK(stack_error(with(kWheelStack, "lock: torch-2.9.0-cu128.lock", "lock: /etc/passwd")) ==
        "s.yaml:7:31: error[RB027]: path \"/etc/passwd\" of `lock` is absolute; write a path below the file's folder");
}

TEST_CASE("a stack without the section of its source is refused", "[spec]") {
  CHECK(stack_error(with(kWheelStack, "source: wheel", "source: system")) ==
        "s.yaml:1:1: error[RB018]: required key `system` is missing in a stack of `source: system`\n"
        "s.yaml:7:8: error[RB009]: key `wheel` does not belong to a stack of `source: system`");
}

TEST_CASE("a version begins with a digit, and is of digits, letters, dots, plus and minus", "[spec]") {
  const auto error = [](const std::string& version) {
    return stack_error(with(kWheelStack, "\"9.10.2\"", "\"" + version + "\""));
  };
  for (const std::string& good : {std::string("9.10"), std::string("1"), std::string("9.1.0+cu128"),
                                  std::string("9.1rc1"), std::string("0-z"), std::string(64, '7')}) {
    CAPTURE(good);
    CHECK(error(good) == "nothing was thrown");
  }
  for (const std::string& bad :
       {std::string(), std::string("v12"), std::string(".8"), std::string("12_8"), std::string("12/8"),
        std::string("12.A"), std::string("12 8"), std::string("12,8"), std::string(65, '7')}) {
    CAPTURE(bad);
    CHECK_THAT(error(bad),
               Catch::StartsWith("s.yaml:4:57: error[RB019]: `cudnn` must be a version such as \"12.8\", got "));
  }
}

TEST_CASE("a system stack is a package of one version, or an adopted environment with its libraries", "[spec]") {
  const std::string package = R"(schema: 1
name: s
source: system
components: {torch: "1.13.1"}
cxx11_abi: 1
cxx_standard: 14
system: {package: libtorch-dev, package_version: "1.13.1"}
)";
  const std::string adopted = with(package, "{package: libtorch-dev, package_version: \"1.13.1\"}",
                                   "{include_dirs: [/e/i], library_dirs: [/e/l], libraries: {libc10.so: \"00ff\"}}");
  CHECK_FALSE(parse_stack(package, "s.yaml").is_adopted());
  const StackSpec stack = parse_stack(adopted, "s.yaml");
  CHECK(stack.is_adopted());
  CHECK(stack.libraries == std::map<std::string, std::string>{{"libc10.so", "00ff"}});
  CHECK(stack_error(with(package, ", package_version: \"1.13.1\"", "")) ==
        "s.yaml:7:9: error[RB018]: required key `package_version` is missing");
  CHECK(stack_error(with(adopted, "include_dirs: [/e/i], ", "")) ==
        "s.yaml:7:9: error[RB018]: required key `include_dirs` is missing in a stack with `libraries`");
  CHECK(stack_error(with(adopted, "{include_dirs", "{package: p, include_dirs")) ==
        "s.yaml:7:19: error[RB009]: key `package` does not belong to a stack with `libraries`");
  CHECK(stack_error(with(adopted, "{libc10.so: \"00ff\"}", "{}")) ==
        "s.yaml:7:65: error[RB019]: `libraries` names none");
}

TEST_CASE("the shipped stacks load, each under its file's name", "[spec]") {
  const auto stacks = load_stacks(REPROBENCH_SOURCE_ROOT "/matrix/stacks");
  REQUIRE(stacks.count("torch-2.9.0-cu128") == 1);
  CHECK(stacks.at("torch-2.9.0-cu128").components.at("torch") == "2.9.0+cu128");
  for (const auto& [name, stack] : stacks) CHECK(stack.mark.file.find(name + ".yaml") != std::string::npos);
}

TEST_CASE("a stack file that is half written, or defined twice, stops whoever names it and nobody else", "[spec]") {
  const TemporaryFolder place;
  const std::string folder = place.path.string();
  const auto write = [&](const std::string& name, const std::string& text) {
    std::ofstream(place.path / name) << text;
  };
  const std::string good = kWheelStack;
  write("torch-2.9.0-cu128.yaml", good);
  write("half.yaml", good.substr(0, good.size() / 2));
  write("twice-a.yaml", with(kWheelStack, "name: torch-2.9.0-cu128", "name: twice"));
  write("twice-b.yaml", with(kWheelStack, "name: torch-2.9.0-cu128", "name: twice"));
  const StackFiles files = read_stack_files(folder);
  CHECK(files.stacks.size() == 1);
  CHECK_NOTHROW(files.require_readable("torch-2.9.0-cu128"));
  CHECK_NOTHROW(files.require_readable("nobody"));
  CHECK_THROWS_AS(files.require_readable("half"), SpecError);
  CHECK(files.broken.at("half").diagnostics().at(0).mark.file == folder + "/half.yaml");
  CHECK(files.broken.at("twice").diagnostics().at(0).what ==
        "stack `twice` is defined twice; first in " + folder + "/twice-a.yaml");
  CHECK_THROWS_AS(load_stacks(folder), SpecError);
}

TEST_CASE("a stack that is an image has its digest, its root and folders as seen inside", "[spec]") {
  const std::string image = R"(schema: 1
name: candidate
source: image
components: {torch: "2.9.0+cu128"}
cxx11_abi: 1
cxx_standard: 17
image:
  name: "team/pytorch:2.9"
  digest: "sha256:0f"
  root: "/store/images/0f/root"
  include_dirs: ["/opt/venv/include"]
  library_dirs: ["/opt/venv/lib"]
  libraries:
    libc10.so: "00ff"
)";
  const StackSpec stack = parse_stack(image, "s.yaml");
  CHECK(stack.source == StackSource::image);
  CHECK_FALSE(stack.is_adopted());
  CHECK(stack.image == "team/pytorch:2.9");
  CHECK(stack.image_digest == "sha256:0f");
  CHECK(stack.host_include_dirs.empty());
  std::string completed = image;
  completed.insert(completed.find("  include_dirs"), "  host_include_dirs: [\"/usr/local/cuda/include\"]\n");
  CHECK(parse_stack(completed, "s.yaml").host_include_dirs == std::vector<std::string>{"/usr/local/cuda/include"});
  CHECK(stack.root == "/store/images/0f/root");
  CHECK(stack.include_dirs == std::vector<std::string>{"/opt/venv/include"});
  CHECK(stack.library_dirs == std::vector<std::string>{"/opt/venv/lib"});
  CHECK(stack.libraries.at("libc10.so") == "00ff");
  CHECK_THAT(stack_error(with(image, "  digest: \"sha256:0f\"\n", "")), Catch::Contains("required key `digest`"));
  CHECK_THAT(stack_error(with(image, "source: image", "source: system")),
             Catch::Contains("required key `system` is missing in a stack of `source: system`") &&
                 Catch::Contains("key `image` does not belong to a stack of `source: system`"));
}
