// Every rule in both directions: a configuration or situation in which it fires, and the nearest one in which it does
// not.
#include <fstream>
#include <set>

#include "matrix/lint/lint_fixture.hpp"
#include "matrix/spec/files/input_text.hpp"

namespace reprobench {
namespace {

using Change = void (*)(LintSituation&);
void as_it_is(LintSituation&) {}

struct Direction {
  const char* text;
  Change change = &as_it_is;
};

struct Row {
  const char* code;
  Direction fires;
  Direction silent;
};

GpuFacts gpu_of(const char* capability) {
  GpuFacts gpu;
  gpu.name = "NVIDIA Card";
  gpu.compute_capability = capability;
  return gpu;
}

void on_host(LintSituation& s, std::vector<GpuFacts> gpus, const char* driver) {
  s.host = HostFacts{};
  s.host->gpus = std::move(gpus);
  s.host->driver = driver;
  s.stack = StackNeeds{"torch-2.9.0-cu128", "2.9.0", "12.8.1", "525.60.13", "570.124.06"};
}

void all_variables(LintSituation& s) {
  s.environment = {{"RANK", "0"},
                   {"WORLD_SIZE", "8"},
                   {"LOCAL_RANK", "0"},
                   {"LOCAL_WORLD_SIZE", "8"},
                   {"MASTER_PORT", "29500"},
                   {"MASTER_ADDR", "localhost"}};
}

// clang-format off
constexpr const char* kPlain = R"({"train_batch_size": 8, "bf16": {"enabled": true}, "optimizer": {"type": "Adam"}, "zero_optimization": {"stage": 3}})";
#define ZERO(inner) R"({"train_batch_size": 8, "bf16": {"enabled": true}, "optimizer": {"type": "Adam"}, "zero_optimization": {)" inner "}}"
#define OPTIMIZER_AT(stage, type) R"({"bf16": {"enabled": true}, "optimizer": {"type": ")" type R"("}, "zero_optimization": {"stage": )" stage "}}"

const Row kRows[] = {
    {"DS001", {R"({"bf16": {"enabled": true, "enabled": true}})"}, {R"({"bf16": {"enabled": true}, "fp16": {"enabled": false}})"}},
    {"DS001", {R"({"optimizer": {"params": {"betas": [{"x": 1}], "lr": 1, "lr": 2}}})"}, {R"({"optimizer": {"params": {"betas": [0.9, 0.9]}}})"}},
    {"DS002", {ZERO(R"("stage": 2, "reduce_scater": true)")}, {ZERO(R"("stage": 2, "reduce_scatter": true)")}},
    {"DS002", {R"({"gradient_cliping": 1.0})"}, {R"({"gradient_clipping": 1.0})"}},
    {"DS002", {ZERO(R"("stage": 2, "nothing_like_it_at_all": true)")}, {R"({"nothing_like_it_at_all": true})"}},
    {"DS003", {R"({"nothing_like_it_at_all": true})"}, {ZERO(R"("stage": 2, "nothing_like_it_at_all": true)")}},
    {"DS003", {R"({"nothing_like_it_at_all": {"deep": 1}})"}, {R"({"nothing_like_it_at_all": {"deep": 1}})", [](LintSituation& s) { s.ignored = {"nothing_like_it_at_all"}; }}},
    {"DS004", {R"({"steps_per_print": 10})"}, {R"({"steps_per_print": 10})", [](LintSituation& s) { s.ignored = {"steps_per_print"}; }}},
    {"DS004", {R"({"aio": {"block_size": 4096}})"}, {R"({"aio": {}})"}},
    {"DS004", {R"({"optimizer": {"params": {"amsgrad": true}}})"}, {R"({"optimizer": {"params": {"torch_adam": true}}})"}},
    {"DS005", {ZERO(R"("stage": 2, "cpu_offload": true)")}, {ZERO(R"("stage": 2, "offload_optimizer": {"device": "cpu"})")}},
    {"DS005", {R"({"bfloat16": {"enabled": true}})"}, {R"({"bf16": {"enabled": true}})"}},
    {"DS005", {R"({"zero_optimization": false})"}, {R"({"zero_optimization": {"stage": 0}})"}},
    {"DS005", {R"({"zero_optimization": true})"}, {R"({"zero_optimization": {"stage": 1}})"}},
    {"DS005", {R"({"fp32_allreduce": true})"}, {R"({"communication_data_type": "fp32"})"}},
    {"DS006", {R"({"train_batch_size": "8"})"}, {R"({"train_batch_size": 8})"}},
    {"DS006", {R"({"bf16": {"enabled": 1}})"}, {R"({"bf16": {"enabled": true}})"}},
    {"DS006", {R"({"zero_optimization": 3})"}, {R"({"zero_optimization": true})"}},
    {"DS006", {R"({"optimizer": {"type": 1}})"}, {R"({"optimizer": {"type": null}})"}},
    {"DS006", {R"({"optimizer": {"params": {"betas": 1}}})"}, {R"({"optimizer": {"params": {"betas": [1]}}})"}},
    {"DS006", {R"({"fp16": {"loss_scale": "128"}})"}, {R"({"fp16": {"loss_scale": 12.5}})"}},
    {"DS007", {ZERO(R"("stage": 4)")}, {ZERO(R"("stage": 3)")}},
    {"DS007", {ZERO(R"("stage": -1)")}, {ZERO(R"("stage": 0)")}},
    {"DS007", {R"({"train_batch_size": 0})"}, {R"({"train_batch_size": 1})"}},
    {"DS007", {ZERO(R"("stage": 3, "offload_optimizer": {"ratio": 1.1})")}, {ZERO(R"("stage": 3, "offload_optimizer": {"ratio": 1})")}},
    {"DS007", {ZERO(R"("stage": 3, "offload_optimizer": {"device": "cp"})")}, {ZERO(R"("stage": 3, "offload_optimizer": {"device": "cpu"})")}},
    {"DS007", {R"({"communication_data_type": "fp64"})"}, {R"({"communication_data_type": "bfp16"})"}},
    {"DS008", {ZERO(R"("stage": 3, "reduce_bucket_size": 5e-1)")}, {ZERO(R"("stage": 3, "reduce_bucket_size": 5e8)")}},
    {"DS008", {R"({"train_batch_size": 8.5})"}, {R"({"gradient_clipping": 8.5})"}},
    {"DS009", {R"({"train_batch_size": "auto"})"}, {R"({"steps_per_print": "auto"})"}},
    {"DS010", {R"({"steps_per_print": "auto"})"}, {R"({"train_batch_size": "auto"})"}},
    {"DS010", {R"({"tensorboard": {"job_name": "auto"}})"}, {R"({"optimizer": {"params": {"lr": "auto"}}})"}},
    {"DS020", {R"({"train_batch_size": 64, "train_micro_batch_size_per_gpu": 4, "gradient_accumulation_steps": 8})"}, {R"({"train_batch_size": 256, "train_micro_batch_size_per_gpu": 4, "gradient_accumulation_steps": 8})"}},
    {"DS020", {R"({"train_batch_size": 64, "train_micro_batch_size_per_gpu": 3})"}, {R"({"train_batch_size": 48, "train_micro_batch_size_per_gpu": 3})"}},
    {"DS020", {R"({"train_batch_size": 64, "gradient_accumulation_steps": 3})"}, {R"({"train_batch_size": 64, "gradient_accumulation_steps": 4})"}},
    {"DS020", {R"({"train_batch_size": 12})"}, {R"({"train_batch_size": 16})"}},
    {"DS020", {R"({"train_batch_size": 12, "train_micro_batch_size_per_gpu": 5})", [](LintSituation& s) { s.world_size.reset(); }}, {R"({"train_batch_size": 15, "train_micro_batch_size_per_gpu": 5})", [](LintSituation& s) { s.world_size.reset(); }}},
    {"DS020", {R"({"train_batch_size": 8, "train_micro_batch_size_per_gpu": 4, "gradient_accumulation_steps": 1})"}, {R"({"train_batch_size": 8, "train_micro_batch_size_per_gpu": "auto", "gradient_accumulation_steps": 1})"}},
    // A factor that somebody else fills in leaves the sum undecided.
    {"DS020", {R"({"train_batch_size": 12, "gradient_accumulation_steps": 5})"}, {R"({"train_batch_size": 12, "gradient_accumulation_steps": "auto"})"}},
    {"DS020", {R"({"train_batch_size": 12, "train_micro_batch_size_per_gpu": 5})"}, {R"({"train_batch_size": 12, "train_micro_batch_size_per_gpu": "auto"})"}},
    {"DS020", {R"({"train_batch_size": 12, "train_micro_batch_size_per_gpu": 5})", [](LintSituation& s) { s.world_size->value = 1; }}, {R"({"train_batch_size": 12, "train_micro_batch_size_per_gpu": 4})", [](LintSituation& s) { s.world_size->value = 1; }}},
    {"DS020", {R"({"train_batch_size": 12, "elasticity": {"enabled": false}})"}, {R"({"train_batch_size": 12, "elasticity": {"enabled": true, "ignore_non_elastic_batch_info": true}})"}},
    {"DS021", {R"({"train_batch_size": 64, "train_micro_batch_size_per_gpu": 4, "gradient_accumulation_steps": 2})", [](LintSituation& s) { s.world_size.reset(); }}, {R"({"train_batch_size": 64, "train_micro_batch_size_per_gpu": 4, "gradient_accumulation_steps": 2})"}},
    {"DS021", {R"({"train_batch_size": 4, "train_micro_batch_size_per_gpu": 4, "gradient_accumulation_steps": 1})", [](LintSituation& s) { s.world_size.reset(); }}, {R"({"train_batch_size": 6, "train_micro_batch_size_per_gpu": 4, "gradient_accumulation_steps": 1})", [](LintSituation& s) { s.world_size.reset(); }}},
    {"DS022", {"{}"}, {R"({"train_micro_batch_size_per_gpu": 1})"}},
    {"DS022", {R"({"gradient_accumulation_steps": 1})"}, {R"({"train_batch_size": "auto"})"}},
    {"DS022", {R"({"elasticity": {"enabled": false}})"}, {R"({"elasticity": {"enabled": true}})"}},
    {"DS023", {R"({"train_batch_size": 8, "elasticity": {"enabled": true}})"}, {R"({"train_batch_size": 8, "elasticity": {"enabled": true, "ignore_non_elastic_batch_info": true}})"}},
    {"DS023", {R"({"gradient_accumulation_steps": 8, "elasticity": {"enabled": true}})"}, {R"({"gradient_accumulation_steps": 8, "elasticity": {"enabled": false}})"}},
    {"DS030", {R"({"fp16": {"enabled": true}, "bf16": {"enabled": true}})"}, {R"({"fp16": {"enabled": true}, "bf16": {"enabled": false}})"}},
    {"DS030", {R"({"fp16": {"enabled": true}, "bfloat16": {"enabled": true}})"}, {R"({"fp16": {"enabled": "auto"}, "bf16": {"enabled": "auto"}})"}},
    {"DS031", {R"({"fp16": {"enabled": false, "loss_scale": 0}})"}, {R"({"fp16": {"enabled": true, "loss_scale": 0}})"}},
    {"DS031", {R"({"fp16": {"hysteresis": 2}})"}, {R"({"fp16": {"enabled": "auto", "hysteresis": 2}})"}},
    {"DS032", {R"({"fp16": {"enabled": true, "loss_scale": 128, "hysteresis": 2}})"}, {R"({"fp16": {"enabled": true, "loss_scale": 0, "hysteresis": 2}})"}},
    {"DS033", {R"({"fp16": {"enabled": true, "initial_scale_power": 21}})"}, {R"({"fp16": {"enabled": true, "initial_scale_power": 20}})"}},
    {"DS033", {R"({"fp16": {"enabled": "auto", "initial_scale_power": 32}})"}, {R"({"fp16": {"enabled": true, "loss_scale": 1, "initial_scale_power": 32}})"}},
    {"DS034", {R"({"amp": {"enabled": true}, "fp16": {"enabled": true}})"}, {R"({"amp": {"enabled": true}})"}},
    {"DS034", {R"({"amp": {"enabled": true}, "zero_optimization": {"stage": 1}})"}, {R"({"amp": {"enabled": false}, "zero_optimization": {"stage": 1}})"}},
    {"DS034", {R"({"amp": {"enabled": true}, "bf16": {"enabled": true}})"}, {R"({"amp": {"enabled": true}, "zero_optimization": {"stage": 0}})"}},
    {"DS035", {R"({"fp16": {"enabled": true, "fp16_master_weights_and_grads": true}, "zero_optimization": {"stage": 2}})"}, {R"({"fp16": {"enabled": true, "fp16_master_weights_and_grads": true}, "zero_optimization": {"stage": 2, "offload_optimizer": {"device": "cpu"}}})"}},
    {"DS035", {R"({"fp16": {"enabled": true, "fp16_master_weights_and_grads": true}})"}, {R"({"fp16": {"enabled": true}})"}},
    {"DS036", {R"({"bf16": {"enabled": true, "bf16_optimizer_states": true}, "zero_optimization": {"stage": 1}})"}, {R"({"bf16": {"enabled": true, "bf16_optimizer_states": true, "bf16_master_weights_and_grads": true}, "zero_optimization": {"stage": 1}})"}},
    {"DS036", {R"({"bf16": {"enabled": true, "bf16_master_weights_and_grads": true}})"}, {R"({"bf16": {"enabled": true, "bf16_master_weights_and_grads": true}, "zero_optimization": {"stage": 1}})"}},
    {"DS037", {R"({"bf16": {"enabled": true}})", [](LintSituation& s) { on_host(s, {gpu_of("9.0"), gpu_of("7.5")}, ""); }}, {R"({"bf16": {"enabled": true}})", [](LintSituation& s) { on_host(s, {gpu_of("8.0"), gpu_of("")}, ""); }}},
    {"DS037", {R"({"bfloat16": {"enabled": true}})", [](LintSituation& s) { on_host(s, {gpu_of("7.5")}, ""); }}, {R"({"fp16": {"enabled": true}})", [](LintSituation& s) { on_host(s, {gpu_of("7.5")}, ""); }}},
    {"DS038", {R"({"zero_optimization": {"stage": 1}})"}, {R"({"zero_optimization": {"stage": 1}, "fp16": {"enabled": true}})"}},
    {"DS038", {R"({"zero_optimization": {"stage": 3}})"}, {R"({"zero_optimization": {"stage": 0}})"}},
    {"DS038", {R"({"zero_optimization": {"stage": 3}, "torch_autocast": null})"}, {R"({"zero_optimization": {"stage": 3}, "torch_autocast": {"enabled": true}})"}},
    {"DS040", {R"({"zero_optimization": {"overlap_comm": true}})"}, {R"({"zero_optimization": {"stage": 0, "overlap_comm": true}})"}},
    {"DS040", {R"({"zero_optimization": {"overlap_comm": true}})"}, {R"({"zero_optimization": {}})"}},
    {"DS041", {ZERO(R"("stage": 2, "sub_group_size": 1e9)")}, {ZERO(R"("stage": 3, "sub_group_size": 1e9)")}},
    {"DS041", {ZERO(R"("stage": 3, "allgather_bucket_size": 1e9)")}, {ZERO(R"("stage": 1, "allgather_bucket_size": 1e9)")}},
    {"DS041", {ZERO(R"("stage": 1, "ignore_unused_parameters": true)")}, {ZERO(R"("stage": 2, "ignore_unused_parameters": true)")}},
    {"DS041", {ZERO(R"("stage": 2, "legacy_stage1": true)")}, {ZERO(R"("stage": 0, "legacy_stage1": true)")}},
    {"DS042", {kPlain}, {ZERO(R"("stage": 3, "stage3_gather_16bit_weights_on_model_save": true)")}},
    {"DS042", {kPlain}, {ZERO(R"("stage": 3, "stage3_gather_fp16_weights_on_model_save": true)")}},
    {"DS042", {kPlain}, {ZERO(R"("stage": 2)")}},
    {"DS042", {kPlain}, {ZERO(R"("stage": 3, "stage3_gather_16bit_weights_on_model_save": "auto")")}},
    {"DS043", {R"({"prescale_gradients": true, "zero_optimization": {"stage": 2}})"}, {R"({"prescale_gradients": true, "zero_optimization": {"stage": 2, "reduce_scatter": false}})"}},
    {"DS043", {R"({"gradient_predivide_factor": 0.5, "zero_optimization": {"stage": 2}})"}, {R"({"gradient_predivide_factor": 1.0, "zero_optimization": {"stage": 2}})"}},
    {"DS043", {R"({"gradient_predivide_factor": 2, "zero_optimization": {"stage": 2}})"}, {R"({"gradient_predivide_factor": 2, "zero_optimization": {"stage": 1}})"}},
    {"DS044", {R"({"gradient_allreduce_op": "sum", "zero_optimization": {"stage": 3}})"}, {R"({"gradient_allreduce_op": "mean", "zero_optimization": {"stage": 3}})"}},
    {"DS044", {R"({"gradient_allreduce_op": "sum", "zero_optimization": {"stage": 3}})"}, {R"({"gradient_allreduce_op": "sum", "zero_optimization": {"stage": 2}})"}},
    {"DS045", {ZERO(R"("stage": 2, "reduce_bucket_size": 999999)")}, {ZERO(R"("stage": 2, "reduce_bucket_size": 1000000)")}},
    {"DS045", {ZERO(R"("stage": 2, "allgather_bucket_size": 1)")}, {ZERO(R"("stage": 0, "allgather_bucket_size": 1)")}},
    // 4.5 x 2 B x 1e9 = 9 GB: a fifth of 45 GB and less than a fifth of 46 GB.
    {"DS046", {ZERO(R"("stage": 2, "overlap_comm": true)"), [](LintSituation& s) { s.gpu_memory_bytes->value = 45'000'000'000; }}, {ZERO(R"("stage": 2, "overlap_comm": true)"), [](LintSituation& s) { s.gpu_memory_bytes->value = 46'000'000'000; }}},
    {"DS046", {ZERO(R"("stage": 2, "overlap_comm": true)"), [](LintSituation& s) { s.gpu_memory_bytes->value = 24'000'000'000; }}, {ZERO(R"("stage": 2, "overlap_comm": false)"), [](LintSituation& s) { s.gpu_memory_bytes->value = 24'000'000'000; }}},
    {"DS046", {ZERO(R"("stage": 2, "overlap_comm": true)"), [](LintSituation& s) { s.gpu_memory_bytes->value = 24'000'000'000; }}, {ZERO(R"("stage": 2, "overlap_comm": true)"), [](LintSituation& s) { s.gpu_memory_bytes.reset(); }}},
    {"DS047", {ZERO(R"("stage": 3, "stage3_prefetch_bucket_size": 11, "stage3_max_live_parameters": 10)")}, {ZERO(R"("stage": 3, "stage3_prefetch_bucket_size": 10, "stage3_max_live_parameters": 10)")}},
    {"DS047", {ZERO(R"("stage": 3, "stage3_max_live_parameters": 10)")}, {ZERO(R"("stage": 3, "stage3_max_live_parameters": 0)")}},
    {"DS048", {ZERO(R"("stage": 3, "zero_hpz_partition_size": 3)")}, {ZERO(R"("stage": 3, "zero_hpz_partition_size": 4)")}},
    {"DS048", {ZERO(R"("stage": 3, "zero_hpz_partition_size": 5)")}, {ZERO(R"("stage": 3, "zero_hpz_partition_size": 16)")}},
    {"DS048", {ZERO(R"("stage": 3, "zero_hpz_partition_size": 3)")}, {ZERO(R"("stage": 3, "zero_hpz_partition_size": 3)"), [](LintSituation& s) { s.world_size.reset(); }}},
    {"DS050", {ZERO(R"("stage": 2, "offload_param": {"device": "cpu"})")}, {ZERO(R"("stage": 3, "offload_param": {"device": "cpu"})")}},
    {"DS050", {ZERO(R"("stage": 1, "cpu_offload_param": true)")}, {ZERO(R"("stage": 1, "offload_param": {"device": "none"})")}},
    {"DS050", {ZERO(R"("stage": 1, "cpu_offload_params": true)")}, {ZERO(R"("stage": 1, "cpu_offload_params": false)")}},
    {"DS051", {ZERO(R"("stage": 0, "offload_optimizer": {"device": "cpu"})")}, {ZERO(R"("stage": 1, "offload_optimizer": {"device": "cpu"})")}},
    {"DS051", {ZERO(R"("stage": 2, "offload_optimizer": {"device": "nvme"})")}, {ZERO(R"("stage": 3, "offload_optimizer": {"device": "nvme"})")}},
    {"DS051", {ZERO(R"("stage": 0, "cpu_offload": true)")}, {ZERO(R"("stage": 0, "cpu_offload": "auto")")}},
    {"DS052", {ZERO(R"("stage": 3, "offload_param": {"device": "nvme"})")}, {ZERO(R"("stage": 3, "offload_param": {"device": "nvme", "nvme_path": "/local_nvme/params"})")}},
    {"DS052", {ZERO(R"("stage": 3, "offload_optimizer": {"device": "nvme"})")}, {ZERO(R"("stage": 3, "offload_optimizer": {"device": "cpu"})")}},
    {"DS053", {ZERO(R"("stage": 3, "offload_param": {"device": "nvme", "nvme_path": "/gone"})"), [](LintSituation& s) { s.folders["/gone"] = {}; }}, {ZERO(R"("stage": 3, "offload_param": {"device": "nvme", "nvme_path": "/local_nvme/params"})")}},
    {"DS053", {ZERO(R"("stage": 3, "offload_param": {"device": "nvme", "nvme_path": "/local_nvme/params"})"), [](LintSituation& s) { s.folders["/local_nvme/params"].is_writable = false; }}, {ZERO(R"("stage": 3, "offload_param": {"device": "cpu", "nvme_path": "/gone"})"), [](LintSituation& s) { s.folders["/gone"] = {}; }}},
    {"DS054", {ZERO(R"("stage": 3, "offload_param": {"device": "nvme", "nvme_path": "params"})")}, {ZERO(R"("stage": 3, "offload_param": {"device": "nvme", "nvme_path": "/local_nvme/params"})")}},
    {"DS054", {ZERO(R"("stage": 3, "offload_param": {"device": "nvme", "nvme_path": "/local_nvme/params"})"), [](LintSituation& s) { s.offload_root = "/local_nvme/states"; }}, {ZERO(R"("stage": 3, "offload_param": {"device": "nvme", "nvme_path": "/local_nvme/params"})"), [](LintSituation& s) { s.offload_root = "/local_nvme"; }}},
    {"DS054", {ZERO(R"("stage": 3, "offload_param": {"device": "nvme", "nvme_path": "/local_nvme_2"})"), [](LintSituation& s) { s.offload_root = "/local_nvme"; }}, {ZERO(R"("stage": 3, "offload_param": {"device": "nvme", "nvme_path": "/local_nvme"})"), [](LintSituation& s) { s.offload_root = "/local_nvme"; }}},
    {"DS054", {ZERO(R"("stage": 3, "offload_param": {"device": "nvme", "nvme_path": "/local_nvme/params"})"), [](LintSituation& s) { s.folders["/local_nvme/params"].resolved = "/proc/self"; }}, {ZERO(R"("stage": 3, "offload_param": {"device": "nvme", "nvme_path": "/process"})")}},
    {"DS054", {ZERO(R"("stage": 3, "offload_param": {"device": "nvme", "nvme_path": "/x/.."})")}, {ZERO(R"("stage": 3, "offload_param": {"device": "nvme", "nvme_path": "/x/../y"})")}},
    {"DS055", {ZERO(R"("stage": 3, "offload_param": {"device": "nvme", "nvme_path": "/scratch/memory"})")}, {ZERO(R"("stage": 3, "offload_param": {"device": "nvme", "nvme_path": "/local_nvme/params"})")}},
    {"DS056", {ZERO(R"("stage": 3, "offload_param": {"device": "cpu", "max_in_cpu": 1})")}, {ZERO(R"("stage": 3, "offload_param": {"device": "nvme", "max_in_cpu": 1})")}},
    {"DS056", {ZERO(R"("stage": 3, "offload_optimizer": {"fast_init": true})")}, {ZERO(R"("stage": 3, "offload_optimizer": {"device": "auto", "fast_init": true})")}},
    {"DS057", {ZERO(R"("stage": 2, "offload_optimizer": {"device": "cpu", "ratio": 0.9})")}, {ZERO(R"("stage": 3, "offload_optimizer": {"device": "cpu", "ratio": 0.9})")}},
    {"DS057", {ZERO(R"("stage": 1, "offload_optimizer": {"device": "cpu", "ratio": 0})")}, {ZERO(R"("stage": 1, "offload_optimizer": {"device": "cpu", "ratio": 1.0})")}},
    {"DS058", {ZERO(R"("stage": 3, "offload_param": {"device": "cpu", "pin_memory": false})")}, {ZERO(R"("stage": 3, "offload_param": {"device": "cpu", "pin_memory": true})")}},
    {"DS058", {ZERO(R"("stage": 3, "offload_optimizer": {"device": "nvme", "pin_memory": false})")}, {ZERO(R"("stage": 3, "offload_optimizer": {"device": "none", "pin_memory": false})")}},
    {"DS060", {OPTIMIZER_AT("1", "OneBitAdam")}, {OPTIMIZER_AT("0", "OneBitAdam")}},
    {"DS060", {OPTIMIZER_AT("2", "ZeroOneAdam")}, {OPTIMIZER_AT("2", "Adam")}},
    {"DS060", {OPTIMIZER_AT("3", "onebitlamb")}, {OPTIMIZER_AT("3", "lamb")}},
    {"DS061", {OPTIMIZER_AT("2", "Lamb")}, {OPTIMIZER_AT("0", "Lamb")}},
    {"DS061", {OPTIMIZER_AT("2", "SGD")}, {OPTIMIZER_AT("2", "Lion")}},
    {"DS061", {OPTIMIZER_AT("2", "RMSprop")}, {R"({"zero_allow_untested_optimizer": true, "optimizer": {"type": "RMSprop"}, "zero_optimization": {"stage": 2}})"}},
    {"DS062", {R"({"optimizer": {"type": "Lamb"}, "zero_optimization": {"stage": 2, "cpu_offload": true}})"}, {R"({"optimizer": {"type": "AdamW"}, "zero_optimization": {"stage": 2, "cpu_offload": true}})"}},
    {"DS062", {R"({"optimizer": {"type": "Adam", "params": {"torch_adam": true}}, "zero_optimization": {"stage": 2, "cpu_offload": true}})"}, {R"({"optimizer": {"type": "Adam", "params": {"torch_adam": true}}, "zero_optimization": {"stage": 2}})"}},
    {"DS063", {R"({"zero_optimization": {"stage": 2, "offload_optimizer": {"device": "cpu"}}})"}, {ZERO(R"("stage": 2, "offload_optimizer": {"device": "cpu"})")}},
    {"DS063", {R"({"zero_optimization": {"stage": 2, "cpu_offload": true}})"}, {R"({"zero_force_ds_cpu_optimizer": false, "zero_optimization": {"stage": 2, "cpu_offload": true}})"}},
    {"DS064", {ZERO(R"("stage": 3, "offload_optimizer": {"device": "cpu"})"), [](LintSituation& s) { s.deepspeed_version = "0.14.1"; }}, {ZERO(R"("stage": 3, "offload_optimizer": {"device": "cpu"})"), [](LintSituation& s) { s.deepspeed_version = "0.14.0"; }}},
    {"DS064", {ZERO(R"("stage": 3, "offload_optimizer": {"device": "cpu"})"), [](LintSituation& s) { s.deepspeed_version = "0.14.2+cu121"; }}, {ZERO(R"("stage": 3, "offload_optimizer": {"device": "cpu"})"), [](LintSituation& s) { s.deepspeed_version = "0.14.3"; }}},
    {"DS064", {ZERO(R"("stage": 3, "cpu_offload": true)"), [](LintSituation& s) { s.deepspeed_version = "0.14.2"; }}, {ZERO(R"("stage": 2, "offload_optimizer": {"device": "cpu"})"), [](LintSituation& s) { s.deepspeed_version = "0.14.2"; }}},
    {"DS064", {ZERO(R"("stage": 3, "offload_optimizer": {"device": "nvme"})"), [](LintSituation& s) { s.deepspeed_version = "0.14.2"; }}, {ZERO(R"("stage": 3, "offload_param": {"device": "cpu"})"), [](LintSituation& s) { s.deepspeed_version = "0.14.2"; }}},
    {"DS065", {ZERO(R"("stage": 3, "offload_optimizer": {"device": "cpu"})"), [](LintSituation& s) { s.deepspeed_version = ""; }}, {ZERO(R"("stage": 3, "offload_optimizer": {"device": "cpu"})")}},
    {"DS065", {ZERO(R"("stage": 3, "offload_optimizer": {"device": "cpu"})"), [](LintSituation& s) { s.deepspeed_version = ""; }}, {ZERO(R"("stage": 3)"), [](LintSituation& s) { s.deepspeed_version = ""; }}},
    {"DS066", {R"({"zero_force_ds_cpu_optimizer": false, "zero_optimization": {"stage": 3, "cpu_offload": true}})"}, {R"({"zero_force_ds_cpu_optimizer": false, "zero_optimization": {"stage": 3}})"}},
    {"DS066", {R"({"zero_force_ds_cpu_optimizer": false, "zero_optimization": {"stage": 1, "cpu_offload": true}})"}, {R"({"zero_force_ds_cpu_optimizer": true, "zero_optimization": {"stage": 1, "cpu_offload": true}})"}},
    {"DS067", {R"({"optimizer": {"type": "Adam", "params": {"max_grad_norm": 1.0}}})"}, {R"({"optimizer": {"type": "Adam", "params": {"max_grad_norm": 0}}, "gradient_clipping": 1.0})"}},
    // 1.3e9 parameters on 8 ranks, stage 1: 4 x 1.3e9 + 12 x 1.3e9 / 8 = 7.15e9.
    {"DS070", {ZERO(R"("stage": 1)"), [](LintSituation& s) { s.gpu_memory_bytes->value = 7'149'999'999; }}, {ZERO(R"("stage": 1)"), [](LintSituation& s) { s.gpu_memory_bytes->value = 7'150'000'000; }}},
    // And buckets of 5e8 elements of 2 B each: 2e9 more.
    {"DS071", {ZERO(R"("stage": 1)"), [](LintSituation& s) { s.gpu_memory_bytes->value = 9'149'999'999; }}, {ZERO(R"("stage": 1)"), [](LintSituation& s) { s.gpu_memory_bytes->value = 9'150'000'000; }}},
    {"DS071", {ZERO(R"("stage": 1)"), [](LintSituation& s) { s.gpu_memory_bytes->value = 7'150'000'000; }}, {ZERO(R"("stage": 1)"), [](LintSituation& s) { s.gpu_memory_bytes->value = 7'149'999'999; }}},
    // 16 B of every parameter, all ranks on one host: 20.8e9. Built in fp32 by 8 ranks, times 1.5: 62.4e9.
    {"DS072", {ZERO(R"("stage": 3, "cpu_offload": true)"), [](LintSituation& s) { s.host_memory_bytes->value = 20'799'999'999; }}, {ZERO(R"("stage": 3, "cpu_offload": true)"), [](LintSituation& s) { s.host_memory_bytes->value = 20'800'000'000; }}},
    {"DS073", {ZERO(R"("stage": 3, "cpu_offload": true)"), [](LintSituation& s) { s.host_memory_bytes->value = 62'399'999'999; }}, {ZERO(R"("stage": 3, "cpu_offload": true)"), [](LintSituation& s) { s.host_memory_bytes->value = 62'400'000'000; }}},
    {"DS074", {ZERO(R"("stage": 3, "offload_optimizer": {"device": "nvme", "nvme_path": "/local_nvme/states"})"), [](LintSituation& s) { s.folders["/local_nvme/states"].free_bytes = 20'799'999'999; }}, {ZERO(R"("stage": 3, "offload_optimizer": {"device": "nvme", "nvme_path": "/local_nvme/states"})"), [](LintSituation& s) { s.folders["/local_nvme/states"].free_bytes = 20'800'000'000; }}},
    {"DS075", {kPlain, [](LintSituation& s) { s.parameters.reset(); }}, {kPlain}},
    {"DS075", {kPlain, [](LintSituation& s) { s.gpu_memory_bytes.reset(); }}, {kPlain}},
    {"DS080", {"{}", [](LintSituation& s) { all_variables(s); s.environment.erase("MASTER_ADDR"); }}, {"{}", &all_variables}},
    {"DS080", {"{}", [](LintSituation& s) { s.environment["RANK"] = "0"; }}, {"{}", [](LintSituation& s) { s.environment["LOCAL_RANK"] = "0"; }}},
    {"DS081", {"{}", [](LintSituation& s) { all_variables(s); s.environment["RANK"] = "8"; }}, {"{}", [](LintSituation& s) { all_variables(s); s.environment["RANK"] = "7"; }}},
    {"DS081", {"{}", [](LintSituation& s) { all_variables(s); s.environment["RANK"] = "-1"; }}, {"{}", &all_variables}},
    {"DS081", {"{}", [](LintSituation& s) { s.environment["RANK"] = "-1"; }}, {"{}", [](LintSituation& s) { s.environment["RANK"] = "1"; }}},
    {"DS081", {"{}", [](LintSituation& s) { all_variables(s); s.environment["LOCAL_RANK"] = "8"; }}, {"{}", [](LintSituation& s) { all_variables(s); s.environment["LOCAL_RANK"] = "7"; }}},
    {"DS081", {"{}", [](LintSituation& s) { all_variables(s); s.environment["MASTER_PORT"] = "65536"; }}, {"{}", [](LintSituation& s) { all_variables(s); s.environment["MASTER_PORT"] = "65535"; }}},
    {"DS081", {"{}", [](LintSituation& s) { all_variables(s); s.environment["MASTER_PORT"] = "0"; }}, {"{}", [](LintSituation& s) { all_variables(s); s.environment["MASTER_PORT"] = "1"; }}},
    {"DS081", {"{}", [](LintSituation& s) { all_variables(s); s.environment["WORLD_SIZE"] = "eight"; }}, {"{}", &all_variables}},
    {"DS081", {"{}", [](LintSituation& s) { all_variables(s); s.environment["LOCAL_WORLD_SIZE"] = "9"; }}, {"{}", &all_variables}},
    {"DS081", {"{}", [](LintSituation& s) { s.environment["WORLD_SIZE"] = "0"; }}, {"{}", [](LintSituation& s) { s.environment["WORLD_SIZE"] = "1"; }}},
    {"DS082", {"{}", [](LintSituation& s) { all_variables(s); s.world_size->value = 4; }}, {"{}", &all_variables}},
    {"DS083", {"{}", [](LintSituation& s) { all_variables(s); s.master_port_is_taken = true; }}, {"{}", [](LintSituation& s) { all_variables(s); s.master_port_is_taken = false; }}},
    {"DS083", {"{}", [](LintSituation& s) { all_variables(s); s.master_port_is_taken = true; }}, {"{}", [](LintSituation& s) { all_variables(s); s.environment["RANK"] = "1"; s.master_port_is_taken = true; }}},
    {"DS084", {"{}", [](LintSituation& s) { on_host(s, {gpu_of("9.0")}, ""); s.gpus_per_host->value = 2; }}, {"{}", [](LintSituation& s) { on_host(s, {gpu_of("9.0")}, ""); s.gpus_per_host->value = 1; }}},
    {"DS085", {"{}", [](LintSituation& s) { on_host(s, {}, ""); }}, {"{}", [](LintSituation& s) { on_host(s, {gpu_of("9.0")}, ""); }}},
    {"DS086", {"{}", [](LintSituation& s) { on_host(s, {gpu_of("9.0")}, "525.60.12"); }}, {"{}", [](LintSituation& s) { on_host(s, {gpu_of("9.0")}, "525.60.13"); }}},
    {"DS087", {"{}", [](LintSituation& s) { on_host(s, {gpu_of("9.0")}, "570.86.10"); }}, {"{}", [](LintSituation& s) { on_host(s, {gpu_of("9.0")}, "570.124.06"); }}},
    {"DS087", {"{}", [](LintSituation& s) { on_host(s, {gpu_of("9.0")}, "525.60.13"); }}, {"{}", [](LintSituation& s) { on_host(s, {gpu_of("9.0")}, "525.60.12"); }}},
    {"DS088", {"{}", [](LintSituation& s) { s.shared_memory_bytes = kGiB - 1; }}, {"{}", [](LintSituation& s) { s.shared_memory_bytes = kGiB; }}},
};
// clang-format on

LintDocument judged(const Direction& direction) {
  LintSituation situation = known_situation();
  direction.change(situation);
  return lint_text(direction.text, situation);
}

TEST_CASE("every rule fires where it should and is silent beside it", "[lint]") {
  for (const Row& row : kRows) {
    CAPTURE(row.code, row.fires.text, row.silent.text);
    const LintDocument fired = judged(row.fires);
    CHECK(count_of(fired, row.code) >= 1);
    for (const LintFinding& finding : fired.findings) CHECK(finding.what.size() > 10);
    CHECK(count_of(judged(row.silent), row.code) == 0);
  }
}

// What every row's rule says where it fires, and what it advises.
std::string said_by_rows() {
  std::string text;
  for (const Row& row : kRows) {
    for (const LintFinding& finding : judged(row.fires).findings) {
      if (finding.code != row.code) continue;
      text += fmt::format("{} {} {}:{} {}\n  {}\n", row.code, to_string(finding.severity), finding.mark.line,
                          finding.mark.column, finding.what, finding.remedy);
    }
  }
  return text;
}

constexpr const char* kSaid = REPROBENCH_SOURCE_ROOT "/matrix/lint/testdata/said.txt";

TEST_CASE("what the rules say is what was read and approved", "[lint]") {
  CHECK(said_by_rows() == read_input_file(kSaid, kMaxJsonBytes));
}

// lint_test "[.approve]": then read the change of the file before it is committed.
TEST_CASE("what the rules say is written down", "[.approve]") { std::ofstream(kSaid) << said_by_rows(); }

TEST_CASE("every rule has rows here, a code of its own, and words that say what to do", "[lint]") {
  std::set<std::string> tested;
  for (const Row& row : kRows) tested.insert(row.code);
  std::string before;
  for (const LintRule* rule : lint_rules()) {
    CAPTURE(rule->code);
    CHECK(tested.erase(rule->code) == 1);
    CHECK(rule->code > before);  // in order, so none twice
    before = rule->code;
    CHECK_FALSE(std::string(rule->title).empty());
    CHECK_FALSE(std::string(rule->remedy).empty());
    CHECK(std::string(rule->title).find('|') == std::string::npos);
  }
  CHECK(tested.empty());
}

}  // namespace
}  // namespace reprobench
