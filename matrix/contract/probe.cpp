#include "matrix/contract/probe.hpp"

#include <algorithm>

namespace reprobench {
namespace {

constexpr std::string_view kBase[] = {"base"};
constexpr std::string_view kBaseAndOrders[] = {"base", kOrdersPreset};
constexpr std::string_view kBaseSweepAndFull[] = {"base", "sweep", "full"};
constexpr std::string_view kBaseAndLong[] = {"base", "long"};

constexpr ProbeOperation kSmoke[] = {
    {"device", "count", "devices of the kind that the process sees, the first of them named"},
    {"matmul", "ns", "a product of two 1000 x 1000 matrices of random fp32 numbers"},
    {"launch_interval", "ns", "the smallest operation, one after the other: how often a GPU can be given work"},
    {"launch_latency", "ns", "the smallest operation alone, until the host has seen it done"},
    {"fp32_rounding", "bits", "significand bits of an fp32 operand that a product keeps: 24 is IEEE, 11 TF32, 8 bf16"},
    {"accumulation", "count", "how many ones a product of 16-bit operands can count: a wide accumulator counts all"},
    {"random_grid", "count",
     "how many elements LibTorch draws alike on this card and on any larger one, from one seed"},
    {"collective", "count", "an all-reduce of one rank: does the stack's NCCL start and have kernels for this GPU?"},
    {"tensor_core_matmul", "TFLOP/s", "a product in a reduced precision, fast enough only for tensor cores"},
};

constexpr ProbeOperation kMemory[] = {
    {"init", "GB/s", "a = s: one stream written"},
    {"copy", "GB/s", "a = b: one stream read, one written"},
    {"scale", "GB/s", "a = s b: one stream read, one written"},
    {"add", "GB/s", "a = b + c: two streams read, one written"},
    {"triad", "GB/s", "a = b + s c: two streams read, one written"},
    {"read_sum", "GB/s", "the sum of a: one stream read"},
    {"ordered_sum", "GB/s", "the sum of a in the order that gives every device the same bits: one stream read"},
    {"digest", "GB/s", "the digests of a's blocks, which every device must find alike: one stream read"},
    {"host_to_device", "GB/s", "a transfer from the host's memory"},
    {"device_to_host", "GB/s", "a transfer to the host's memory"},
    {"unified", "GB/s", "a triad in memory that host and device share, never more of it than is free"},
    {"pointer_chase", "ns", "a load whose address is the result of the load before"},
    {"capacity", "bytes",
     "memory that was allocated, filled with its own addresses and their complement, and read back"},
};

constexpr ProbeOperation kPeer[] = {
    {"peer_access", "count", "whether one device may reach the other's memory without the host: 1, or 0"},
    {"peer_copy", "GB/s", "a copy from one device to the other"},
    {"peer_exchange", "GB/s", "copies both ways at once, their bytes added up"},
    {"peer_latency", "ns", "a copy of a few bytes, one after the other"},
};

constexpr ProbeOperation kCompute[] = {
    {"gemm", "TFLOP/s", "a matrix product of random numbers"},
    {"conv", "TFLOP/s", "a convolution of random images with 3 x 3 filters"},
    {"attention", "TFLOP/s", "scaled dot product attention of random queries, keys and values"},
};

constexpr ProbeOperation kStress[] = {
    {"repeated_gemm", "TFLOP/s",
     "one matrix product for as long as the preset says, every result compared with the first"},
};

constexpr ProbeOperation kCollectiveOperations[] = {
    {"all_reduce", "ns", "the sum of what all ranks hold, on each of them"},
    {"all_gather", "ns", "what every rank holds, one after the other, on each of them"},
    {"reduce_scatter", "ns", "the sum of what all ranks hold, a part on each of them"},
    {"broadcast", "ns", "what the first rank holds, on each of them"},
    {"reduce", "ns", "the sum of what all ranks hold, on the first"},
    {"all_to_all", "ns", "a part from every rank to every other"},
    {"send_recv", "ns", "from each rank to the next, all at once"},
    {"barrier", "ns", "until every rank has come"},
};

constexpr ProbeOperation kOperators[] = {
    {"operator_call", "ns", "one operator call of a list, forward and backward, alone"},
};

constexpr ProbeOperation kPackage[] = {
    {"eager_forward", "ns", "a model's forward pass, operator by operator"},
    {"package_forward", "ns", "the same pass of an AOTInductor package of the user's, on the same weights and batch"},
    {"package_differs", "count", "elements of the package's result that have other bits than eager's"},
};

constexpr ProbeInfo kProbes[] = {
    {"device_smoke", "is the device there, does it compute, and at the precision asked for?", kBase, kSmoke},
    {"device_memory", "bandwidth in every direction, latency, capacity", kBase, kMemory},
    {"device_peer", "what passes between two devices of one process: access, bandwidth both ways, latency", kBase,
     kPeer, false, 2},
    {"device_compute", "products, convolutions and attention against fp64, and how fast", kBase, kCompute},
    {"device_stress", "the same product again and again: are all results equal, bit for bit?", kBaseAndLong, kStress},
    {"collectives",
     "what ranks do together: the right result of every call, how fast, and in which order of summation?",
     kBaseSweepAndFull, kCollectiveOperations, true},
    {"operators", "single operator calls of a list: digests, and how far each is from fp64", kBaseAndOrders,
     kOperators},
    {"package", "an AOTInductor package of the user's against eager: bits, distance from fp64, time", kBase, kPackage},
};

constexpr std::string_view kLabels[] = {"dtype",   "shape", "size",      "memory", "placement",
                                        "library", "call",  "direction", "model",  "batch"};

}  // namespace

std::span<const ProbeInfo> probes() { return kProbes; }

const ProbeInfo* find_probe(std::string_view name) {
  const auto found = std::ranges::find(kProbes, name, &ProbeInfo::name);
  return found == std::end(kProbes) ? nullptr : &*found;
}

const ProbeOperation* find_probe_operation(std::string_view name) {
  for (const ProbeInfo& probe : kProbes) {
    const auto found = std::ranges::find(probe.operations, name, &ProbeOperation::name);
    if (found != probe.operations.end()) return &*found;
  }
  return nullptr;
}

std::vector<std::string> probe_names() {
  std::vector<std::string> names;
  for (const ProbeInfo& probe : kProbes) names.emplace_back(probe.name);
  return names;
}

std::vector<std::string> probe_operation_names() {
  std::vector<std::string> names;
  for (const ProbeInfo& probe : kProbes) {
    for (const ProbeOperation& operation : probe.operations) names.emplace_back(operation.name);
  }
  return names;
}

std::span<const std::string_view> measurement_labels() { return kLabels; }

}  // namespace reprobench
