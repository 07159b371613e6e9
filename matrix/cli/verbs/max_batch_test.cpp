// `describe workload NAME --max-batch`, whose worker is a script.
#include <fstream>
#include <iterator>

#include "ci/catch.hpp"
#include "ci/thrown.hpp"
#include "matrix/cli/verbs/verb_fixture.hpp"
#include "matrix/contract/attempt_memory.hpp"

namespace reprobench {
namespace {

using Catch::Contains;
using nlohmann::json;
using Texts = std::vector<std::string>;

// Its worker predicts `of_sample` bytes a sample of every request, or nothing where that is 0.
struct BatchPlace : SmallProject {
  explicit BatchPlace(std::int64_t of_sample) : worker(*this / "worker") {
    install("new", small_capability());
    AttemptMemory need;
    if (of_sample == 0) need.why_not = "nobody counted";
    if (of_sample > 0) need.activation_bytes = 424'242;
    MemoryPredictions predictions;
    predictions.needs = {need};
    const json answer = to_json(predictions);
    const std::string each = answer.at("needs").at(0).dump();
    std::string around = answer.dump();
    around.replace(around.find(each), each.size(), "NEEDS");
    written_file(worker,
                 fmt::format("#!/bin/sh\n[ \"$1\" = predict ] || exit 1\n"
                             "list=$(grep -o '\"batch_size\":[0-9]*' \"$2\" | cut -d: -f2 | while read -r size; do\n"
                             "printf '%s' '{}' | sed \"s/424242/$((size * {}))/\"; printf ,; done)\n"
                             "printf '%s' '{}' | sed \"s/NEEDS/${{list%,}}/\"\n",
                             each, of_sample, around),
                 /*is_program=*/true);
  }
  Said say(Texts words) const {
    words.insert(words.begin(), {"workload", "mlp", "--max-batch", "--worker", "new=" + worker.string()});
    return said_by(&declare_describe, store(), words);
  }
  std::string refused(const Texts& words) const {
    return message_of<UsageError>([&] { say(words); });
  }
  std::filesystem::path worker;
};

TEST_CASE("the largest batch is said with its arithmetic, what is too large, and by how much it may be more",
          "[cli][process]") {
  const BatchPlace place(10'000'000);
  const Said said = place.say({"--memory", "1GB"});
  CHECK(said.code == ExitCode::passed);
  CHECK_THAT(said.out, Catch::StartsWith("mlp/base on new, cpu: 1.0 GB (--memory)\ndefault knobs\n"
                                         "  largest        batch 66: at most 1.0 GB; about 0.7 GB: 0.0 parameters"));
  CHECK_THAT(said.out, Contains("  too large      batch 67: at most 1.0 GB; about 0.7 GB: "));
  CHECK_THAT(said.out, Contains("allocator=mapped\n  largest        batch 90: "));
  CHECK_THAT(said.out, Contains("at most: 10 % above the prediction with allocator=mapped, 50 % with another"));
  const json document = json::parse(place.say({"--memory", "1GB", "--preset", "wide", "--json"}).out);
  CHECK(document.at("schema") == "reprobench/batch_fit");
  CHECK(document.at("preset") == "wide");
  CHECK(document.at("available_bytes") == 1'000'000'000);
  CHECK(document.at("asked").at("largest").at("batch_size") == 66);
  CHECK(document.at("asked").at("largest").at("at_most_bytes") == 990'000'000);
}

TEST_CASE("a batch that is wished for fits, or is cut, or cannot be had", "[cli][process]") {
  const BatchPlace place(10'000'000);
  const Said fits = place.say({"--memory", "1GB", "--batch", "66"});
  CHECK_THAT(fits.out, Contains("batch 66 fits: "));
  CHECK(fits.code == ExitCode::passed);
  // The script answers by the batch alone, whatever it is cut into: nothing helps.
  const Said cannot = place.say({"--memory", "1GB", "--batch", "100"});
  CHECK_THAT(cannot.out, Contains("batch 100 does not fit: batch 100: at most 1.5 GB") &&
                             Contains("and no micro-batches of it do\n"));
  CHECK(cannot.code == ExitCode::failed);
  const Said mapped = place.say({"--memory", "1GB", "--batch", "80"});
  CHECK_THAT(mapped.out, Contains("the same global batch in this memory, by these knobs:\n  allocator=mapped\n"));
  CHECK(mapped.code == ExitCode::passed);
}

TEST_CASE("where nothing fits, or nothing is predicted, the exit code says which", "[cli][process]") {
  const Said none = BatchPlace(10'000'000).say({"--memory", "1MB"});
  CHECK_THAT(none.out, Contains("largest        none: not even the smallest batch fits"));
  CHECK(none.code == ExitCode::failed);
  const Said unknown = BatchPlace(0).say({});
  CHECK_THAT(unknown.out, Contains("not predicted  nobody counted") && Contains("free on this host"));
  CHECK(unknown.code == ExitCode::undecided);
}

TEST_CASE("an installed worker is asked once for a batch, and not again what it said when it was built",
          "[cli][process]") {
  const BatchPlace place(10'000'000);
  const std::filesystem::path starts = place / "starts";
  const StackSpec spec = place.project().stacks().at("new");
  SmallProject::replace_worker(
      place.project().stack_store().find(spec),
      fmt::format("#!/bin/sh\necho \"$1\" >> '{}'\nexec '{}' \"$@\"\n", starts.string(), place.worker.string()));
  const auto lines_of = [](const std::filesystem::path& path) {
    std::ifstream file(path);
    return std::string{std::istreambuf_iterator<char>(file), {}};
  };
  const auto say = [&](const char* memory) {
    return said_by(&declare_describe, place.store(), {"workload", "mlp", "--max-batch", "--memory", memory}).out;
  };
  const std::string first = say("1GB");
  CHECK_THAT(first, Contains("largest        batch 66: "));
  const std::string asked = lines_of(starts);
  CHECK_THAT(asked, Catch::StartsWith("predict\n") && !Contains("describe"));
  CHECK(say("1GB") == first);
  CHECK(lines_of(starts) == asked);
  CHECK_THAT(say("2GB"), Contains("largest        batch 133: "));
  CHECK(lines_of(starts).size() > asked.size());
}

TEST_CASE("what no workload, preset, knob, stack, batch or size is, is refused by name", "[cli][process]") {
  const BatchPlace place(10'000'000);
  CHECK_THAT(place.refused({"--preset", "bsae"}), Contains("no preset of mlp `bsae`; did you mean `base`?"));
  CHECK_THAT(place.refused({"--knob", "acumulate=2"}), Contains("no knob `acumulate`; did you mean `accumulate`?"));
  CHECK_THAT(place.refused({"--knob", "accumulate"}), Contains("--knob takes NAME=VALUE"));
  CHECK_THAT(place.refused({"--stack", "nwe"}), Contains("no stack `nwe`; did you mean `new`?"));
  CHECK_THAT(place.refused({"--memory", "much"}), Contains("--memory must be a size such as 4GB"));
  CHECK_THAT(place.refused({"--batch", "3", "--knob", "accumulate=2", "--knob", "allocator=mapped"}),
             Contains("a batch of 3 makes no 2 equal micro-batches (accumulate)"));
  const auto say = [&](const Texts& words) { return said_by(&declare_describe, place.store(), words); };
  CHECK_THROWS_WITH(say({"workload", "mpl", "--max-batch"}), Contains("no model `mpl`; did you mean `mlp`?"));
  CHECK_THROWS_WITH(say({"stack", "new", "--max-batch"}), Contains("--max-batch goes with a workload"));
  CHECK_THROWS_AS(say({"workload", "mlp", "--memory", "1GB"}), CLI::Error);
}

}  // namespace
}  // namespace reprobench
