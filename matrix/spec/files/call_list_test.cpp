#include "matrix/spec/files/call_list.hpp"

#include <chrono>

#include <fmt/format.h>

#include "ci/catch.hpp"
#include "matrix/spec/spec_fixture.hpp"
#include "matrix/spec/suite_spec.hpp"

namespace reprobench {
namespace {

const std::string kListHead = "schema: 1\nname: mine\n";

std::string calls_error(const std::string& text) {
  return spec_error_of([&] { parse_call_list(text, "mine.yaml"); });
}

TEST_CASE("every row of a call makes one, in the order of the file", "[spec]") {
  const CallList list = parse_call_list(kListHead +
                                            "memory: 2GiB\n"
                                            "calls:\n"
                                            "  - call: native_layer_norm(f32[N, C], [C], f32[C], f32[C], 1e-5)\n"
                                            "    with: [{N: 256, C: 64}, {N: 256, C: 768}]\n"
                                            "  - call: relu(f32[ 3,4 ])\n",
                                        "mine.yaml");
  CHECK(list.name == "mine");
  CHECK(list.memory_bytes == std::int64_t{2} << 30);
  CHECK(list.calls == std::vector<std::string>{"native_layer_norm(f32[256, 64], [64], f32[64], f32[64], 1e-5)",
                                               "native_layer_norm(f32[256, 768], [768], f32[768], f32[768], 1e-5)",
                                               "relu(f32[3, 4])"});
}

TEST_CASE("a list without `memory` allows each call one GiB", "[spec]") {
  CHECK(parse_call_list(kListHead + "calls: [{call: 'relu(f32[2])'}]\n", "mine.yaml").memory_bytes == std::int64_t{1}
                                                                                                          << 30);
}

TEST_CASE("#41: a list that names a file or another library is refused where it stands", "[spec]") {
  using Catch::Contains;
  CHECK_THAT(calls_error(kListHead + "calls:\n  - call: from_file('/etc/passwd', false, 8)\n"),
             Contains("mine.yaml:4:11: error[RB047]: from_file may not run: text is given by its argument's name"));
  CHECK_THAT(
      calls_error(kListHead + "calls:\n  - {call: \"from_file(filename=F, shared=true)\", with: [{F: \"'x'\"}]}\n"),
      Contains("error[RB047]"));
  CHECK_THAT(calls_error(kListHead + "calls: [{call: 'quantized::mul(f32[2], f32[2])'}]\n"),
             Contains("error[RB047]: quantized::mul may not run: `quantized::mul` is of another library"));
}

TEST_CASE("#41: ten thousand calls of tensors that a file of a hundred thousand lacks take seconds", "[spec]") {
  std::vector<std::string> names;
  for (int i = 0; i < 100'000; ++i) names.push_back(fmt::format("n{}", i));
  const auto started = std::chrono::steady_clock::now();
  for (int i = 0; i < 20; ++i) nearest_name(fmt::format("m{}", i), names);
  std::string list = kListHead + "calls:\n  - call: relu(f32[N])\n    with:\n";
  for (int i = 1; i < 33'000; ++i) list += fmt::format("      - {{N: {}}}\n", i);
  CHECK_THAT(calls_error(list), Catch::Contains("32999 calls are over 10000"));
  CHECK(std::chrono::steady_clock::now() - started < std::chrono::seconds(10));
}

TEST_CASE("what is wrong with a list is said at its place", "[spec]") {
  using Catch::Contains;
  CHECK_THAT(calls_error(kListHead), Contains("required key `calls` is missing"));
  CHECK_THAT(calls_error(kListHead + "calls: []\n"), Contains("RB023"));
  CHECK_THAT(calls_error(kListHead + "calls:\n  - call: relu(f32[N])\n"),
             Contains("mine.yaml:4:11: error[RB019]: operator call: after `relu(f32[`: a whole number is missing"));
  CHECK_THAT(calls_error(kListHead + "calls:\n  - {call: 'relu(f32[N])', with: [{n: 3}]}\n"),
             Contains("`n` is no word that a row can give"));
  for (const char* word : {"2N", "Nn", "N_2", "7"}) {
    CHECK_THAT(calls_error(kListHead + "calls:\n  - {call: 'relu(f32[N])', with: [{" + word + ": 3}]}\n"),
               Contains(fmt::format("`{}` is no word that a row can give", word)));
  }
  CHECK(parse_call_list(kListHead + "calls:\n  - {call: 'relu(f32[N2])', with: [{N2: 3}]}\n", "mine.yaml").calls ==
        std::vector<std::string>{"relu(f32[3])"});
  CHECK_THAT(calls_error(kListHead + "calls:\n  - {call: 'relu(f32[N])', with: [{N: [3]}]}\n"), Contains("RB019"));
  CHECK_THAT(calls_error(kListHead + "calls:\n  - {call: 'relu(f32[N])', with: [{N: 3}, {N: 3}]}\n"),
             Contains("the list has relu(f32[3]) twice"));
  CHECK_THAT(calls_error(kListHead + "memory: 3\ncalls: [{call: 'relu(f32[2])'}]\n"),
             Contains("must be a size such as 2GiB"));
  const std::string file = "mine.yaml:";
  CHECK(calls_error("# nothing\n") ==
        file + "1:1: error[RB001]: file has no content; a list of operator calls needs `calls:`");
  CHECK(calls_error(kListHead + "calls: []\n") == file + "3:8: error[RB023]: `calls` has no entry");
  CHECK_THAT(calls_error(kListHead + "calls:\n  - {call: 'relu(f32[N])', with: [{N: [3]}]}\n"),
             Contains(file + "4:39: error[RB019]: `N` must be one word or number, got a list"));
  for (const char* memory : {"3", "0B", "0.5B", "2PiB", "GiB", "[1GiB]", "1125899906842625B"}) {
    CAPTURE(memory);
    CHECK_THAT(calls_error(kListHead + "memory: " + memory + "\ncalls: [{call: 'relu(f32[2])'}]\n"),
               Contains(file + "3:9: error[RB019]: `memory` must be a size such as 2GiB, got "));
  }
  const auto memory_of = [](const std::string& memory) {
    return parse_call_list(kListHead + "memory: " + memory + "\ncalls: [{call: 'relu(f32[2])'}]\n", "mine.yaml")
        .memory_bytes;
  };
  CHECK(memory_of("1B") == 1);
  CHECK(memory_of("1048576GiB") == std::int64_t{1} << 50);
  CHECK_THAT(calls_error(kListHead + "calls: [{cal: x}]\n"), Contains("did you mean `call`"));
}

TEST_CASE("the shipped list is read, and has the widths at which a layer norm is known to diverge", "[spec]") {
  const CallList list = load_call_list(REPROBENCH_SOURCE_ROOT "/suites/operators/published.yaml");
  CHECK(list.name == "published");
  CHECK(list.calls.size() == 142);
  for (const int width : {64, 128, 192, 256, 512, 768, 1024}) {
    const std::string call = fmt::format("native_layer_norm(f32[256, {0}], [{0}], f32[{0}], f32[{0}], 1e-5)", width);
    CHECK(std::find(list.calls.begin(), list.calls.end(), call) != list.calls.end());
  }
}

std::string calls_suite_error(const std::string& workload) {
  return spec_error_of([&] {
    parse_suite("schema: 1\nname: s\nworkloads: [" + workload + "]\n",
                REPROBENCH_SOURCE_ROOT "/suites/definitions/s.yaml", spec_test_vocabulary());
  });
}

TEST_CASE("a suite names a list for the probe that runs calls, and for no other", "[spec]") {
  using Catch::Contains;
  CHECK(calls_suite_error("{probe: operators, preset: base, samples: 3, calls: published}") == "");
  CHECK_THAT(calls_suite_error("{probe: operators, preset: base, samples: 3}"),
             Contains("s.yaml:3:13: error[RB018]: the probe `operators` needs `calls`"));
  CHECK_THAT(calls_suite_error("{probe: operators, preset: base, samples: 3, calls: nowhere}"),
             Contains("nowhere.yaml"));
  CHECK_THAT(calls_suite_error("{probe: device_smoke, preset: base, samples: 3, calls: published}"),
             Contains("s.yaml:3:68: error[RB009]: the probe `device_smoke` takes no `calls`"));
  CHECK_THAT(calls_suite_error(""), Contains("s.yaml:3:12: error[RB023]: `workloads` has no entry"));
}

}  // namespace
}  // namespace reprobench
