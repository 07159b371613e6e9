#include "matrix/record/packed_records.hpp"

#include "matrix/record/packer.hpp"

namespace reprobench {
namespace {

// A record is constant where it is packed, so its type is a parameter too.
template <class Way, class Step>
void each_field_of_step(Way& way, Step& step) {
  const auto integer = [&](auto& value) { way.integer(value); };
  way.integer(step.step);
  way.number(step.loss);
  way.number(step.grad_norm);
  way.real(step.learning_rate);
  way.maybe(step.loss_scale, [&](auto& value) { way.real(value); });
  way.integer(step.samples);
  way.integer(step.step_time_ns);
  way.integer(step.phases.data_ns);
  way.integer(step.phases.forward_ns);
  way.integer(step.phases.backward_ns);
  way.integer(step.phases.optimizer_ns);
  way.integer(step.phases.comm_ns);
  way.maybe(step.phases.exchange_ns, integer);
  way.maybe(step.phases.exchange_hidden_ns, integer);
  way.maybe(step.phases.data_wait_ns, integer);
  way.integer(step.rss_bytes);
  way.integer(step.anonymous_bytes);
  way.integer(step.allocated_bytes);
  way.digest(step.root);
  way.digest(step.chain);
  way.events(step.events);
  way.maybe(step.block, integer);
  way.maybe(step.ended_ns, integer);
}

template <class Way, class Sketch>
void each_field_of_sketch(Way& way, Sketch& sketch) {
  way.integer(sketch.nan_count);
  way.integer(sketch.inf_count);
  way.real_alone(sketch.min);
  way.real_alone(sketch.max);
  way.real_alone(sketch.sum);
  way.real_alone(sketch.l2);
  for (auto& sum : sketch.signed_sums) way.real_alone(sum);
}

template <class Way, class Tensors>
void each_field_of_tensors(Way& way, Tensors& tensors) {
  way.integer(tensors.step);
  way.small(tensors.is_final);
  way.each(tensors.tensors, [&](auto& tensor) {
    way.text(tensor.name);
    way.small(tensor.role);
    way.text(tensor.dtype);
    way.shape(tensor.shape);
    way.digest(tensor.digest);
    way.maybe(tensor.sketch, [&](auto& sketch) { each_field_of_sketch(way, sketch); });
  });
}

template <class Record, class EachField>
std::string packed_by(std::span<const Record> records, EachField each_field) {
  Packer packer;
  for (const Record& record : records) {
    packer.begin_record();
    each_field(packer, record);
  }
  return packer.take();
}

template <class Record, class EachField>
std::vector<Record> unpacked_by(std::string_view bytes, EachField each_field) {
  std::vector<Record> records;
  for (Unpacker unpacker(bytes); !unpacker.is_at_end();) {
    unpacker.begin_record();
    each_field(unpacker, records.emplace_back());
  }
  return records;
}

constexpr auto kEachOfStep = [](auto& way, auto& step) { each_field_of_step(way, step); };
constexpr auto kEachOfTensors = [](auto& way, auto& tensors) { each_field_of_tensors(way, tensors); };

}  // namespace

std::string packed(std::span<const StepRecord> steps) { return packed_by(steps, kEachOfStep); }
std::string packed(std::span<const TensorsRecord> tensors) { return packed_by(tensors, kEachOfTensors); }

template <>
std::vector<StepRecord> unpacked(std::string_view bytes) {
  return unpacked_by<StepRecord>(bytes, kEachOfStep);
}
template <>
std::vector<TensorsRecord> unpacked(std::string_view bytes) {
  return unpacked_by<TensorsRecord>(bytes, kEachOfTensors);
}

}  // namespace reprobench
