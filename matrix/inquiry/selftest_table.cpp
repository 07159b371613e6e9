#include "matrix/inquiry/selftest_table.hpp"

namespace reprobench {
namespace {

// clang-format off
constexpr SelftestFault kFaults[] = {
    // fault                 target                 first difference at         by fp64     only gpt2
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
    {"adam_epsilon",        FaultTarget::none,      PlantedAt::next_parameters, "defect",   false},
    {"reduction_order",     FaultTarget::product,   PlantedAt::operator_output, "rounding", false},
    {"tf32",                FaultTarget::none,      PlantedAt::operator_output, "defect",   false},
    {"accumulate_16_bit",   FaultTarget::none,      PlantedAt::operator_output, "defect",   false},
    {"layer_norm_epsilon",  FaultTarget::none,      PlantedAt::operator_output, "defect",   true},
    {"gelu_scale",          FaultTarget::none,      PlantedAt::operator_output, "defect",   true},
    {"softmax_scale",       FaultTarget::none,      PlantedAt::operator_output, "any",      true},
    {"seed=2",              FaultTarget::none,      PlantedAt::not_comparable,  "",         false},
    {"threads=2",           FaultTarget::none,      PlantedAt::anywhere,        "rounding", false},
    {"cpu_isa=default",     FaultTarget::none,      PlantedAt::anywhere,        "rounding", false},
};
// clang-format on

}  // namespace

std::span<const SelftestFault> selftest_faults() { return kFaults; }

}  // namespace reprobench
