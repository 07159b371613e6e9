// What is said, word for word where it holds numbers, and what of a file counts as judged. The rows B59 to B66 of the
// catalogue of bad input have their tests here.
#include "matrix/lint/lint.hpp"

#include <fstream>
#include <iterator>

#include "matrix/contract/document/reader.hpp"
#include "matrix/contract/document/writer.hpp"
#include "matrix/lint/lint_fixture.hpp"
#include "matrix/lint/option_text.hpp"
#include "matrix/plan/compat_facts.hpp"

namespace reprobench {
namespace {

LintSituation without_ranks() {
  LintSituation situation = known_situation();
  situation.world_size.reset();
  return situation;
}

TEST_CASE("B59: a repeated key is an error with both places, and the last value is judged", "[lint]") {
  const LintDocument document = lint_text("{\"zero_optimization\": {\"stage\": 1,\n \"stage\": 3}}");
  CHECK(said(document, "DS001") == "key `zero_optimization.stage` appears twice; first at 1:24");
  CHECK(document.memory.stage == 3);
  CHECK(document.word == LintWord::errors);
}

TEST_CASE("B60: the batch sizes are held against each other with all numbers", "[lint]") {
  const auto batch = [](const std::string& text, LintSituation situation) {
    return said(lint_text("{" + text + "}", situation), "DS020");
  };
  LintSituation one = known_situation();
  one.world_size->value = 1;
  const std::string all =
      R"("train_batch_size": 64, "train_micro_batch_size_per_gpu": 4, "gradient_accumulation_steps": 8)";
  CHECK(batch(all, one) == "train_batch_size 64 != micro 4 x accumulation 8 x 1 rank (= 32)");
  CHECK(batch(all, known_situation()) == "train_batch_size 64 != micro 4 x accumulation 8 x 8 ranks (= 256)");
  CHECK(batch(R"("train_batch_size": 64, "train_micro_batch_size_per_gpu": 3)", known_situation()) ==
        "train_batch_size 64 cannot be divided among micro 3 x 8 ranks");
  CHECK(batch(R"("train_batch_size": 64, "gradient_accumulation_steps": 5)", known_situation()) ==
        "train_batch_size 64 cannot be divided among accumulation 5 x 8 ranks");
  CHECK(batch(R"("train_batch_size": 12)", known_situation()) == "train_batch_size 12 cannot be divided among 8 ranks");
  CHECK(batch(R"("train_batch_size": 12, "train_micro_batch_size_per_gpu": 5)", without_ranks()) ==
        "train_batch_size 12 is no multiple of micro 5 (= 5), whatever the number of ranks");
  CHECK(said(lint_text("{" + all + "}", without_ranks()), "DS021") ==
        "train_batch_size 64 = micro 4 x accumulation 8 holds for 2 ranks and no other number");
  // Three factors of a billion leave 64 bits.
  CHECK(batch(R"("train_batch_size": 7, "train_micro_batch_size_per_gpu": 1e9, "gradient_accumulation_steps": 1e9)",
              known_situation()) ==
        "train_batch_size 7 != micro 1000000000 x accumulation 1000000000 x 8 ranks (= 8000000000000000000)");
}

TEST_CASE("B61: \"auto\" is named, counted as not judged, and an error where nobody fills it", "[lint]") {
  const LintDocument filled = lint_text(R"({"train_batch_size": "auto", "bf16": {"enabled": "auto"}})");
  CHECK(said(filled, "DS009") == "2 values are \"auto\", which are not judged here: train_batch_size, bf16.enabled");
  CHECK(filled.coverage.automatic == 2);
  CHECK(filled.word == LintWord::not_all_judged);
  CHECK(said(lint_text(R"({"train_batch_size": "auto"})"), "DS009") ==
        "1 value is \"auto\", which is not judged here: train_batch_size");
  const auto unfilled = [](const std::string& text) { return said(lint_text(text), "DS010"); };
  CHECK(unfilled(R"({"steps_per_print": "auto"})") ==
        "nothing fills \"auto\" of `steps_per_print`; it stays the word \"auto\"");
  CHECK(unfilled(R"({"zero_optimization": {"sub_group_size": "auto"}})") ==
        "nothing fills \"auto\" of `zero_optimization.sub_group_size`; it is dropped without a word, and the default "
        "1e9 holds");
  CHECK(unfilled(R"({"zero_optimization": {"overlap_comm": "auto"}})") ==
        "nothing fills \"auto\" of `zero_optimization.overlap_comm`; it is dropped without a word");
}

TEST_CASE("B62 and B63: two precisions at once, and a stage that is none", "[lint]") {
  CHECK(said(lint_text("{\"fp16\": {\"enabled\": true},\n\"bfloat16\": {\"enabled\": true}}"), "DS030") ==
        "fp16.enabled and bfloat16.enabled (line 2) are both true");
  for (const char* stage : {"4", "-1", "1e3"}) {
    const LintDocument document = lint_text(fmt::format(R"({{"zero_optimization": {{"stage": {}}}}})", stage));
    CHECK(said(document, "DS007") == fmt::format("there is no ZeRO stage {}; stages are 0, 1, 2 and 3", stage));
    CHECK(document.memory.unknown == "zero_optimization.stage is not known");
  }
}

TEST_CASE("B64: an offload folder outside of where it may be is named with what it resolves to", "[lint]") {
  const auto outside = [](const std::string& path, LintSituation situation) {
    const std::string text = fmt::format(
        R"({{"zero_optimization": {{"stage": 3, "offload_param": {{"device": "nvme", "nvme_path": "{}"}}}}}})", path);
    return said(lint_text(text, situation), "DS054");
  };
  LintSituation situation = known_situation();
  CHECK(outside("/local_nvme/../etc/states", situation) ==
        "nvme_path \"/local_nvme/../etc/states\" (/etc/states) is a folder of the system");
  CHECK(outside("../x", situation) == "nvme_path \"../x\" is relative: each process would mean the folder it runs in");
  CHECK(outside("/dev/../dev", situation) == "nvme_path \"/dev/../dev\" is a folder of the system");
  CHECK(outside("/", situation) == "nvme_path \"/\" is a folder of the system");
  situation.offload_root = "/mnt/disk";
  CHECK(outside("/mnt/disk/a", situation).empty());
  CHECK(outside("/mnt/disk", situation).empty());
  CHECK(outside("/mnt/disk/../b", situation) == "nvme_path \"/mnt/disk/../b\" lies outside /mnt/disk");
  situation.offload_root = "/mnt/disk/";
  CHECK(outside("/mnt/disk/a", situation).empty());
  CHECK(outside("/mnt/disks", situation) == "nvme_path \"/mnt/disks\" lies outside /mnt/disk/");
}

TEST_CASE("B65: what is not modelled is listed, and an ignored key is counted", "[lint]") {
  const std::string text =
      R"({"train_batch_size": 8, "aio": {"block_size": 1, "queue_depth": 2}, "mine": {"a": [1, 2], "b": 3},
                               "optimizer": {"type": "Adam", "params": {"lr": 1}}, "steps_per_print": 5})";
  LintSituation situation = known_situation();
  const LintDocument all = lint_text(text, situation);
  CHECK(count_of(all, "DS004") == 3);
  CHECK(said(all, "DS003") == "unknown key `mine`: DeepSpeed reads over it without a word, and nothing here judges it");
  CHECK(all.coverage.values == 8);
  CHECK(all.coverage.judged == 2);
  CHECK(all.coverage.unmodelled == 4);
  CHECK(all.coverage.unknown == 2);
  CHECK(all.summary == "0 errors, 1 warning, 3 notes; judged 2 of 8 values; not judged: 4 not modelled, 2 unknown");
  situation.ignored = {"aio", "mine", "optimizer.params.lr", "steps_per_print"};
  const LintDocument ignored = lint_text(text, situation);
  CHECK(ignored.findings.empty());
  CHECK(ignored.coverage.ignored == 6);
  CHECK(ignored.word == LintWord::not_all_judged);
  CHECK(ignored.summary == "0 errors, 0 warnings, 0 notes; judged 2 of 8 values; not judged: 6 ignored as asked");
  situation.ignored = {"step"};
  CHECK(count_of(lint_text(text, situation), "DS004") == 3);
}

TEST_CASE("B65: one finding lists what is not judged in a section", "[lint]") {
  CHECK(said(lint_text(R"({"aio": {"block_size": 1, "queue_depth": 2}})"), "DS004") ==
        "not judged in `aio`: block_size, queue_depth");
  CHECK(said(lint_text(R"({"wall_clock_breakdown": true})"), "DS004") == "`wall_clock_breakdown` is not judged");
}

TEST_CASE("B65: a key that holds a dot or nothing is no path of known keys", "[lint]") {
  const LintDocument document = lint_text(R"({"fp16.enabled": true, "": {"bf16": {"enabled": true}}})");
  CHECK(document.coverage.judged == 0);
  CHECK(document.coverage.unknown == 2);
  CHECK(count_of(document, "DS003") == 2);
  CHECK_THAT(said(lint_text(R"({"": 1})"), "DS003"), Catch::StartsWith("unknown key `\"\"`: "));
}

TEST_CASE("B66: 5e8 is a whole number, and what is none is shown as it is written", "[lint]") {
  const LintDocument document =
      lint_text(R"({"zero_optimization": {"stage": 2, "reduce_bucket_size": 5.5e0, "allgather_bucket_size": 2.5e8}})");
  CHECK(said(document, "DS008") ==
        "`zero_optimization.reduce_bucket_size` must be a whole number of 64 bits; 5.5e0 is none");
}

TEST_CASE("clean is said only where every value and the memory were judged", "[lint]") {
  const std::string text =
      R"({"train_batch_size": 8, "bf16": {"enabled": true}, "optimizer": {"type": "Adam"}, "zero_optimization": {"stage": 1}})";
  const LintDocument clean = lint_text(text);
  CHECK(clean.word == LintWord::clean);
  CHECK(clean.summary == "clean: judged 4 of 4 values and the memory of the model states");
  LintSituation situation = known_situation();
  situation.parameters.reset();
  const LintDocument unknown = lint_text(text, situation);
  CHECK(unknown.word == LintWord::not_all_judged);
  CHECK(unknown.summary == "0 errors, 0 warnings, 1 note; judged 4 of 4 values; not judged: memory");
  situation = known_situation();
  situation.gpu_memory_bytes.reset();
  CHECK(lint_text(text, situation).word == LintWord::not_all_judged);
  situation = known_situation();
  situation.host_memory_bytes.reset();
  CHECK(lint_text(text, situation).word == LintWord::not_all_judged);
  CHECK(lint_text(R"({"train_batch_size": 8, "steps_per_print": 1})").word == LintWord::not_all_judged);
  situation = known_situation();
  situation.host = HostFacts{};
  CHECK(lint_text(text, situation).summary ==
        "0 errors, 0 warnings, 1 note; judged 4 of 4 values; not judged: the GPUs of this host");
  CHECK(lint_text(text, situation).word == LintWord::not_all_judged);
  situation.host->gpus.resize(8);
  CHECK(lint_text(text, situation).word == LintWord::clean);
  const LintDocument noted =
      lint_text(R"({"train_batch_size": 8, "fp16": {"enabled": true, "initial_scale_power": 32}})");
  CHECK(noted.word == LintWord::notes);
  CHECK(noted.summary == "0 errors, 0 warnings, 1 note; judged 3 of 3 values; not judged: nothing");
}

TEST_CASE("findings stand in file order, the environment's last", "[lint]") {
  LintSituation situation = known_situation();
  situation.environment["RANK"] = "x";
  const LintDocument document = lint_text("{\"steps_per_print\": 1,\n\"train_batch_size\": 9, \"aio\": 1}", situation);
  CHECK(codes(document) == "1:2 DS004, 2:1 DS020, 2:31 DS006, DS080, DS081");
  CHECK(document.errors == 3);
  CHECK(document.warnings == 1);
  CHECK(document.notes == 1);
}

// DeepSpeed docs/_pages/config-json.md and runtime/zero/config.py: the keys that are of some stages alone.
TEST_CASE("a key of other stages is said to do nothing, and of which it is", "[lint]") {
  const std::pair<const char*, const char*> rows[] = {{"allgather_partitions", "1 and 2"},
                                                      {"allgather_bucket_size", "1 and 2"},
                                                      {"round_robin_gradients", "1 and 2"},
                                                      {"ignore_unused_parameters", "2"},
                                                      {"legacy_stage1", "1"},
                                                      {"sub_group_size", "3"},
                                                      {"zero_hpz_partition_size", "3"},
                                                      {"zero_quantized_weights", "3"},
                                                      {"zero_quantized_nontrainable_weights", "3"},
                                                      {"zero_quantized_gradients", "3"},
                                                      {"mics_shard_size", "3"},
                                                      {"mics_hierarchical_params_gather", "3"},
                                                      {"memory_efficient_linear", "3"},
                                                      {"override_module_apply", "3"},
                                                      {"stage3_max_live_parameters", "3"},
                                                      {"stage3_max_reuse_distance", "3"},
                                                      {"stage3_prefetch_bucket_size", "3"},
                                                      {"stage3_param_persistence_threshold", "3"},
                                                      {"stage3_model_persistence_threshold", "3"},
                                                      {"stage3_gather_16bit_weights_on_model_save", "3"},
                                                      {"stage3_gather_fp16_weights_on_model_save", "3"},
                                                      {"stage3_module_granularity_threshold", "3"},
                                                      {"stage3_use_all_reduce_for_fetch_params", "3"},
                                                      {"stage3_allgather_sequential", "3"},
                                                      {"stage3_partition_stream_chunk_size", "3"}};
  for (const auto& [key, stages] : rows) {
    for (const char stage : {'1', '2', '3'}) {
      CAPTURE(key, stage);
      const LintDocument document =
          lint_text(fmt::format(R"({{"zero_optimization": {{"stage": {}, "{}": 1}}}})", stage, key));
      const bool is_of_it = std::string(stages).find(stage) != std::string::npos;
      CHECK(said(document, "DS041") ==
            (is_of_it ? "" : fmt::format("`{}` has no effect at stage {}; it is of stage {}", key, stage, stages)));
    }
  }
}

TEST_CASE("a section without a stage says how much of it does nothing", "[lint]") {
  const auto told = [](const std::string& keys) {
    return said(lint_text("{\"zero_optimization\": {" + keys + "}}"), "DS040");
  };
  CHECK(told(R"("overlap_comm": true)") ==
        "zero_optimization has 1 key but no stage, and the default is 0: ZeRO is off");
  CHECK(told(R"("overlap_comm": true, "reduce_scatter": true)") ==
        "zero_optimization has 2 keys but no stage, and the default is 0: ZeRO is off");
  CHECK(said(lint_text(R"({"zero_optimization": {"stage": 0, "cpu_offload": true}})"), "DS051") ==
        "the optimizer is offloaded to cpu at stage 0: ZeRO is off and nothing is offloaded");
}

TEST_CASE("the classic failure of two devices is explained with its cause and its fix", "[lint]") {
  LintSituation situation = known_situation();
  situation.deepspeed_version = "0.14.2";
  const LintDocument document =
      lint_text(R"({"zero_optimization": {"stage": 3, "offload_optimizer": {"device": "cpu"}}})", situation);
  CHECK(said(document, "DS064") ==
        "stage 3 with the optimizer on cpu stops DeepSpeed 0.14.2 at its first step: \"Expected all tensors to be on "
        "the same "
        "device, but found at least two devices, cuda:0 and cpu\" in unscale_and_clip_grads. The norm of the gradients "
        "is a GPU "
        "tensor there, the gradients of a partition are on the CPU");
  for (const LintFinding& finding : document.findings) {
    if (finding.code == "DS064") {
      CHECK(finding.remedy == "use DeepSpeed 0.14.3 or newer (or 0.14.0), or set offload_optimizer.device to none");
    }
  }
}

TEST_CASE("memory that is not there is named with its sum", "[lint]") {
  LintSituation situation = known_situation();
  situation.parameters = 7'000'000'000;
  situation.gpu_memory_bytes->value = 24 * kGiB;
  const LintDocument document = lint_text(
      R"({"train_batch_size": 8, "bf16": {"enabled": true}, "optimizer": {"type": "Adam"}, "zero_optimization": {"stage": 1}})",
      situation);
  CHECK(said(document, "DS070") ==
        "model states take 35.86 GiB of each GPU, which has 24.00 GiB (--gpu-memory): parameters 2 B x 7000000000 = "
        "13.04 GiB, "
        "gradients 2 B x 7000000000 = 13.04 GiB, optimizer states 12 B x 7000000000 / 8 = 9.78 GiB");
  situation.gpu_memory_bytes->value = 37 * kGiB;
  CHECK(said(lint_text(R"({"train_batch_size": 8, "bf16": {"enabled": true}, "optimizer": {"type": "Adam"},
                          "zero_optimization": {"stage": 1}})",
                       situation),
             "DS071") ==
        "each GPU has 37.00 GiB (--gpu-memory); model states take 35.86 GiB, buffers up to 1.86 GiB, DeepSpeed's "
        "own estimate is none");
}

TEST_CASE("the document is read as it was written", "[lint]") {
  LintSituation situation = known_situation();
  situation.gpu_memory_bytes.reset();
  situation.environment["RANK"] = "x";
  const LintDocument document =
      lint_text(R"({"train_batch_size": 9, "aio": 1, "zero_optimization": {"stage": 2}})", situation);
  const nlohmann::json json = written(document);
  CHECK(json.at("schema") == "reprobench/lint");
  CHECK(json.at("findings").at(0).at("severity") == "error");
  CHECK(json.at("memory").at("gpu").at("limit_bytes").is_null());
  CHECK(written(read_document<LintDocument>(json)) == json);
}

TEST_CASE("what was seen of the machine is listed", "[lint]") {
  const auto listed = [](const LintSituation& situation) {
    std::string text;
    for (const EnvironmentFact& fact : lint_text("{}", situation).environment)
      text += fact.name + ": " + fact.value + "\n";
    return text;
  };
  LintSituation situation = known_situation();
  CHECK(listed(situation) == "rendezvous: no variable is set\n");
  situation.host = HostFacts{};
  situation.host->os = "Debian";
  situation.host->cores = 4;
  situation.host->memory_bytes = 8 * kGiB;
  CHECK(listed(situation) ==
        "host: Debian, 4 cores, 8.00 GiB\nGPUs: none\ndriver: none\nrendezvous: no variable is set\n");
  situation.host->driver = "570.124.06";
  situation.host->driver_cuda = "12.8";
  for (const char* name : {"T4", "H100", "H100"}) {
    GpuFacts gpu;
    gpu.name = name;
    gpu.compute_capability = gpu.name == "T4" ? "7.5" : "9.0";
    gpu.memory_bytes = gpu.name == "T4" ? 16 * kGiB : 80 * kGiB;
    situation.host->gpus.push_back(gpu);
  }
  situation.stack = StackNeeds{"torch-2.8.0-cu128", "2.8.0", "12.8.1", "525.60.13", "570.124.06"};
  situation.environment = {{"RANK", "0"}, {"WORLD_SIZE", "2"}};
  situation.master_port_is_taken = true;
  situation.shared_memory_bytes = 64 << 20;
  CHECK(listed(situation) ==
        "host: Debian, 4 cores, 8.00 GiB\n"
        "GPUs: 1 x T4 (16.00 GiB, compute capability 7.5), 2 x H100 (80.00 GiB, compute capability 9.0)\n"
        "driver: 570.124.06, CUDA up to 12.8\n"
        "stack: torch-2.8.0-cu128: torch 2.8.0, CUDA 12.8.1 (driver 525.60.13 or newer)\n"
        "rendezvous: RANK=0 WORLD_SIZE=2\nmaster port: in use\n/dev/shm: 0.06 GiB\n");
}

TEST_CASE("rules.md has the rules as they are", "[lint]") {
  std::ifstream file(REPROBENCH_SOURCE_ROOT "/matrix/lint/rules.md", std::ios::binary);
  const std::string page{std::istreambuf_iterator<char>(file), {}};
  const std::size_t at = page.find("\n" + rule_page());
  REQUIRE(at != std::string::npos);  // else: reprobench lint --rules, into its table
  CHECK(page[at + 1 + rule_page().size()] != '|');
}

TEST_CASE("numbers of the command line", "[lint]") {
  CHECK(parameter_count("7B") == 7'000'000'000);
  CHECK(parameter_count("1.3e9") == 1'300'000'000);
  CHECK(parameter_count("124439808") == 124'439'808);
  CHECK(parameter_count("2K") == 2000);
  CHECK(parameter_count("1.5T") == 1'500'000'000'000);
  for (const char* wrong : {"", "B", "7b", "7GB", "7KM", "7BT", "7KMBT", "-1", "0", "0.4", "2e15", "1e400", "7 B"}) {
    CAPTURE(wrong);
    CHECK_FALSE(parameter_count(wrong));
  }
  CHECK(parameter_count("350M") == 350'000'000);
  CHECK(parameter_count("1") == 1);
  CHECK(parameter_count("1000T") == 1'000'000'000'000'000);
  CHECK(parameter_count("0.0025K") == 3);  // to the nearest whole one
  CHECK(memory_size("1B") == 1);
  CHECK(memory_size("1000kB") == 1'000'000);
  CHECK(memory_size("1e9GB") == 1'000'000'000'000'000'000);
  CHECK(memory_size("80GiB") == 80 * kGiB);
  CHECK(memory_size("1MiB") == 1 << 20);
  for (const char* wrong : {"", "80", "80 GiB", "0GiB", "-1GiB", "80B0", "1.1e9GB", "1e30GiB"}) {
    CAPTURE(wrong);
    CHECK_FALSE(memory_size(wrong));
  }
}

TEST_CASE("what a stack needs of a driver comes from the compatibility facts", "[lint]") {
  const CompatFacts facts = load_compat_facts(REPROBENCH_SOURCE_ROOT "/matrix/facts/compat-facts.json");
  StackSpec stack;
  stack.name = "torch-2.8.0-cu128";
  stack.source = StackSource::wheel;
  stack.components = {{"torch", "2.8.0+cu128"}, {"cuda", "12.8"}};
  const StackNeeds needs = needs_of(stack, facts);
  CHECK(needs.torch == "2.8.0");
  CHECK(needs.cuda_toolkit == "12.8.1");
  CHECK(needs.driver_floor == "525.60.13");
  CHECK(needs.driver_bundled == "570.124.06");
  stack.components = {{"torch", "1.13.1"}};
  CHECK(needs_of(stack, facts).driver_floor.empty());
  CHECK(needs_of(stack, facts).cuda_toolkit.empty());
}

TEST_CASE("the CUDA of a stack is its wheel's, and what the stack says where the wheel says nothing", "[lint]") {
  CompatFacts facts = load_compat_facts(REPROBENCH_SOURCE_ROOT "/matrix/facts/compat-facts.json");
  StackSpec stack;
  stack.name = "of-a-wheel";
  stack.source = StackSource::wheel;
  stack.components = {{"torch", "2.8.0+cu128"}, {"cuda", "12.6"}};
  CHECK(needs_of(stack, facts).cuda_toolkit == "12.8.1");
  for (WheelFacts& wheel : facts.wheels) wheel.cuda_toolkit.clear();
  const StackNeeds needs = needs_of(stack, facts);
  CHECK(needs.name == "of-a-wheel");
  CHECK(needs.cuda_toolkit == "12.6");
  CHECK(needs.driver_floor == "525.60.13");
  facts.wheels.clear();
  CHECK(needs_of(stack, facts).cuda_toolkit == "12.6");
  stack.components["cuda"] = "99.1";  // of no known line
  CHECK(needs_of(stack, facts).cuda_toolkit == "99.1");
  CHECK(needs_of(stack, facts).driver_floor.empty());
}

}  // namespace
}  // namespace reprobench
