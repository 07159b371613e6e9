// A project whose one suite can be run by the fake worker, in this process.
#pragma once

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "matrix/cli/verbs/verb_fixture.hpp"

namespace reprobench {

inline const std::string kFake = REPROBENCH_BINARY_DIR "/reprobench-fake-worker";

// A project in which the suite `short` trains one model once on each stack.
class RunPlace : public SmallProject {
 public:
  RunPlace() {
    add_suite("short",
              "schema: 1\nname: short\ndescription: d\nworkloads: [{model: mlp, preset: base, steps: 6, batch_size: "
              "32}]\ntrace: tensor\nrepeat: 1\ntimeout: 5m\nthresholds:\n  numerics.final_loss: {max: 9}\n");
  }

  Said run(const std::string& candidate = "ok", const std::vector<std::string>& more = {},
           const std::string& matrix = "") const {
    std::vector<std::string> words{"--matrix", matrix.empty() ? this->matrix() : matrix,
                                   "--worker", "new=" + kFake + " --do " + candidate,
                                   "--worker", "old=" + kFake + " --do ok"};
    words.insert(words.end(), more.begin(), more.end());
    if (std::find(more.begin(), more.end(), "--report") != more.end()) {
      std::erase(words, "--report");
    } else {
      words.emplace_back("--no-report");
    }
    return said_by(&declare_run, store(), words);
  }
  Said say(Declare declare, const std::vector<std::string>& words) const { return said_by(declare, store(), words); }

  // The only run of the store.
  std::filesystem::path run_folder() const {
    std::vector<std::string> runs;
    for (const auto& entry : std::filesystem::directory_iterator(store() / "runs")) runs.push_back(entry.path());
    REQUIRE(runs.size() == 1);
    return runs.front();
  }
  nlohmann::json file(const std::string& name) const { return nlohmann::json::parse(read_file(run_folder() / name)); }
};

// A `python3` that has every module and writes this, for the time of a test.
struct FakePython {
  FakePython(const SmallProject& project, const std::string& body)
      : setting("REPROBENCH_PYTHON",
                written_file(project / "bin/python3", "#!/bin/sh\n[ \"$3\" = -c ] && exit 0\n" + body, true).string()) {
  }
  TemporaryVariable setting;
};

}  // namespace reprobench
