// Whole configurations as people write them, good and bad, each with every finding it gets.
#include <filesystem>
#include <set>

#include "matrix/lint/lint_fixture.hpp"
#include "matrix/spec/files/input_text.hpp"

namespace reprobench {
namespace {

const std::filesystem::path kConfigurations = REPROBENCH_SOURCE_ROOT "/matrix/lint/testdata";

struct Golden {
  const char* file;
  LintWord word;
  const char* findings;
  const char* deepspeed = "0.16.4";
};

// clang-format off
const Golden kGolden[] = {
    {"amp_with_zero", LintWord::errors, "3:11 DS034, 3:28 DS004"},
    {"auto_nobody_fills", LintWord::errors, "2:3 DS009, 3:25 DS010, 4:22 DS010, 7:21 DS010, 8:30 DS010, 9:58 DS010"},
    {"batch_mismatch", LintWord::errors, "4:3 DS020"},
    {"clean_stage0", LintWord::clean, ""},
    {"clean_zero2_bf16", LintWord::clean, ""},
    {"client_optimizer", LintWord::warnings, "6:27 DS063"},
    {"deprecated_switches", LintWord::warnings, "4:44 DS004, 4:56 DS067, 7:5 DS005, 8:5 DS005, 9:5 DS004, 9:5 DS005, 10:5 DS005"},
    {"elastic", LintWord::errors, "2:3 DS023, 3:35 DS004"},
    {"exponents", LintWord::errors, "3:34 DS008, 9:23 DS008, 11:34 DS008"},
    {"fp16_and_bf16", LintWord::errors, "3:12 DS030"},
    {"half_masters", LintWord::errors, "3:29 DS035, 4:30 DS036, 5:17 DS061, 6:3 DS044, 7:37 DS042, 8:25 DS047"},
    {"infinity_nvme", LintWord::not_all_judged, "24:11 DS004"},
    {"lamb_offloaded", LintWord::errors, "3:49 DS032, 4:17 DS061, 4:17 DS062, 4:44 DS004, 7:44 DS058, 7:65 DS056"},
    {"no_batch", LintWord::errors, "1:2 DS022"},
    {"no_stage", LintWord::errors, "5:3 DS040, 5:47 DS051"},
    {"nvme_elsewhere", LintWord::errors, "7:45 DS054, 8:41 DS054"},
    {"nvme_in_memory", LintWord::errors, "7:45 DS055, 8:23 DS052"},
    {"one_bit_adam", LintWord::errors, "5:17 DS060, 5:50 DS004"},
    {"prescaled", LintWord::errors, "3:3 DS043, 4:3 DS043, 7:37 DS045"},
    {"quoted_numbers", LintWord::errors, "2:23 DS006, 4:11 DS006, 5:34 DS006, 5:55 DS006, 6:50 DS006, 6:67 DS006, DS075"},
    {"repeated_keys", LintWord::errors, "4:3 DS038, 4:3 DS042, 7:5 DS001, 10:3 DS001"},
    {"stage3_keys_at_stage2", LintWord::errors, "7:23 DS050, 8:44 DS057, 9:5 DS041, 10:5 DS041"},
    {"stage_4", LintWord::errors, "5:14 DS007, DS075"},
    {"trainer_zero2_tabs", LintWord::not_all_judged, "2:11 DS009"},
    {"trainer_zero3_offload", LintWord::not_all_judged, "3:5 DS009, 12:17 DS004, 18:5 DS004, 29:3 DS004, 32:3 DS004"},
    {"two_devices", LintWord::errors, "3:3 DS004, 5:45 DS004, 9:27 DS064", "0.14.2"},
    {"two_devices", LintWord::not_all_judged, "3:3 DS004, 5:45 DS004", "0.14.0"},
    {"two_devices", LintWord::not_all_judged, "3:3 DS004, 5:45 DS004, 9:27 DS065", ""},
    {"typos", LintWord::errors, "2:3 DS002, 4:29 DS002, 5:3 DS002, 8:5 DS002, 9:37 DS007, 9:65 DS002, 11:34 DS002, DS075"},
    {"unmodelled", LintWord::warnings, "5:44 DS004, 6:32 DS004, 7:27 DS004, 8:3 DS003, 9:19 DS004"},
    {"zero1_fp16", LintWord::not_all_judged, "3:3 DS004, 4:3 DS004, 5:3 DS004, 8:16 DS004, 16:5 DS033, 18:37 DS041"},
    {"zero_switch_bfloat16", LintWord::warnings, "3:3 DS005, 4:3 DS005"},
    {"zeropp_hpz", LintWord::errors, "8:5 DS048"},
};
// clang-format on

TEST_CASE("every shipped configuration has exactly its findings", "[lint]") {
  std::set<std::string> judged;
  for (const Golden& golden : kGolden) {
    const std::string file = std::string(golden.file) + ".json";
    judged.insert(file);
    LintSituation situation = known_situation();
    situation.deepspeed_version = golden.deepspeed;
    const LintDocument document =
        lint_text(read_input_file((kConfigurations / file).string(), kMaxJsonBytes), situation);
    CAPTURE(file, document.summary);
    CHECK(codes(document) == golden.findings);
    CHECK(to_string(document.word) == to_string(golden.word));
  }
  for (const auto& entry : std::filesystem::directory_iterator(kConfigurations)) {
    if (entry.path().extension() == ".json") CHECK(judged.count(entry.path().filename().string()) == 1);
  }
}

}  // namespace
}  // namespace reprobench
