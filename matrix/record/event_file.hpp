// A TensorBoard event file: scalars by step, as records of protocol buffers. The only C++ library for it is TensorFlow
// itself, and scalars need only a small part of the format.
//
// Source: tensorflow/core/lib/io/record_writer.h (records), core/util/event.proto and core/framework/summary.proto
// (field numbers), version "brain.Event:2".
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "matrix/record/trace_reader.hpp"

namespace reprobench {

struct Scalar {
  std::string_view tag;
  double value = 0;
};

class EventFile {
 public:
  // Times are seconds since 1970 UTC.
  explicit EventFile(double begun_s);

  void add(std::int64_t step, double at_s, const std::vector<Scalar>& scalars);
  const std::string& bytes() const { return bytes_; }

 private:
  void add_record(const std::string& event);

  std::string bytes_;
};

// The values that a training's steps recorded: loss, norm of the gradients, learning rate, step time, samples a second,
// memory. A value that a step did not measure has no point; a loss that is not a number has one.
std::string event_file_of(const Trace& trace, double begun_s);

}  // namespace reprobench
