#include "matrix/inquiry/selftest/selftest_table.hpp"

namespace reprobench {
namespace {

constexpr const char* kProducts = "aten::mm aten::bmm aten::addmm aten::baddbmm";

// clang-format off
constexpr SelftestFault kFaults[] = {
    // fault                 target                 first difference at         by fp64     only gpt2  explained as, at, planted in, beside
    {"weight_ulp",          FaultTarget::parameter, PlantedAt::parameter,       "rounding", false},
    {"gradient_ulp",        FaultTarget::parameter, PlantedAt::gradient,        "",         false},
    {"moment_ulp",          FaultTarget::parameter, PlantedAt::moment,          "",         false},
    {"weight_sign",         FaultTarget::bias,      PlantedAt::parameter,       "",         false},
    {"weight_nan",          FaultTarget::parameter, PlantedAt::end_of_run,      "",         false},
    {"sample_repeated",     FaultTarget::sample,    PlantedAt::input,           "defect",   false},
    {"sample_dropped",      FaultTarget::sample,    PlantedAt::input,           "defect",   false},
    {"stale_batch",         FaultTarget::none,      PlantedAt::input,           "defect",   false},
    {"wrong_batch",         FaultTarget::none,      PlantedAt::input,           "defect",   false},
    {"skip_update",         FaultTarget::none,      PlantedAt::any_moment,      "",         false},
    {"adam_epsilon",        FaultTarget::none,      PlantedAt::next_parameters, "defect",   false,     "wrong",    "aten::add_ aten::addcdiv_"},
    {"reduction_order",     FaultTarget::product,   PlantedAt::operator_output, "rounding", false,     "rounding", kProducts},
    {"tf32",                FaultTarget::none,      PlantedAt::operator_output, "defect",   false,     "wrong",    kProducts},
    {"accumulate_16_bit",   FaultTarget::none,      PlantedAt::operator_output, "defect",   false,     "wrong",    kProducts},
    {"order_and_decay",     FaultTarget::none,      PlantedAt::operator_output, "any",      false,     "wrong",    "aten::mul_"},
    {"layer_norm_epsilon",  FaultTarget::none,      PlantedAt::operator_output, "defect",   true,      "wrong",    "aten::native_layer_norm"},
    {"gelu_scale",          FaultTarget::none,      PlantedAt::operator_output, "defect",   true,      "wrong",    "aten::gelu"},
    {"softmax_scale",       FaultTarget::none,      PlantedAt::operator_output, "any",      true},
    {"gelu_constant",       FaultTarget::module,    PlantedAt::operator_output, "any",      true,      "wrong",    "aten::mul",   ".gelu"},
    {"gelu_written_out",    FaultTarget::module,    PlantedAt::operator_output, "any",      true,      "rounding", "aten::mul",   ".gelu"},
    {"attention_scale",     FaultTarget::module,    PlantedAt::operator_output, "any",      true,      "wrong",    "aten::mul",   ".scores"},
    {"cast_inserted",       FaultTarget::module,    PlantedAt::operator_output, "defect",   true,      "wrong",    "aten::to",    ".ln_1"},
    {"gelu_bias",           FaultTarget::module,    PlantedAt::operator_output, "any",      true,      "wrong",    "aten::mul",   ".gelu"},
    {"norm_epsilon",        FaultTarget::module,    PlantedAt::operator_output, "any",      true,      "wrong",    "aten::native_layer_norm aten::layer_norm", ".ln_1"},
    {"attention_fused",     FaultTarget::module,    PlantedAt::operator_output, "rounding", true,      "rounding", "",            ".mixed"},
    {"adam_written_out",    FaultTarget::parameter, PlantedAt::own_update,      "rounding", false,     "rounding", ""},
    {"adam_epsilon_unscaled", FaultTarget::parameter, PlantedAt::own_update,    "any",      false,     "wrong",    "aten::addcdiv_ aten::add_ aten::div"},
    {"gelu_constant",       FaultTarget::module,    PlantedAt::anywhere,        "any",      true,      "wrong",    "aten::mul",   ".gelu", "cpu_isa=default"},
    {"gelu_written_out",    FaultTarget::module,    PlantedAt::anywhere,        "rounding", true,      "rounding", "",            ".gelu", "cpu_isa=default"},
    {"seed=2",              FaultTarget::none,      PlantedAt::not_comparable,  "",         false},
    {"threads=2",           FaultTarget::none,      PlantedAt::anywhere,        "rounding", false,     "rounding", ""},
    {"attention=flash",     FaultTarget::none,      PlantedAt::anywhere,        "rounding", true,      "rounding", ""},
    {"cpu_isa=default",     FaultTarget::none,      PlantedAt::anywhere,        "rounding", false,     "rounding", ""},
};
// clang-format on

}  // namespace

std::string name_of(const SelftestFault& fault) {
  std::string name(fault.kind);
  if (!fault.beside.empty()) name += " beside " + std::string(fault.beside);
  return name;
}

std::span<const SelftestFault> selftest_faults() { return kFaults; }

}  // namespace reprobench
