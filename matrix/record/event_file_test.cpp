#include "matrix/record/event_file.hpp"

#include <cstring>

#include "ci/catch.hpp"
#include "matrix/base/number.hpp"

namespace reprobench {
namespace {

std::string bytes_of(std::initializer_list<int> bytes) { return {bytes.begin(), bytes.end()}; }

// The payloads of the records; each must carry its length and the masked checksums of both.
std::vector<std::string> payloads(const std::string& file) {
  const auto checksum = [](std::string_view bytes) {
    const std::uint32_t crc = crc32c(bytes);
    return ((crc >> 15) | (crc << 17)) + 0xa282ead8U;
  };
  std::vector<std::string> found;
  for (std::size_t at = 0; at < file.size();) {
    std::uint64_t length = 0;
    std::uint32_t of_length = 0;
    std::uint32_t of_payload = 0;
    std::memcpy(&length, file.data() + at, 8);
    std::memcpy(&of_length, file.data() + at + 8, 4);
    REQUIRE(of_length == checksum(std::string_view(file).substr(at, 8)));
    found.push_back(file.substr(at + 12, length));
    std::memcpy(&of_payload, file.data() + at + 12 + length, 4);
    REQUIRE(of_payload == checksum(found.back()));
    at += 16 + length;
  }
  return found;
}

TEST_CASE("an event file begins with its version, and a step has its number, time and scalars", "[record]") {
  EventFile file(2);
  file.add(300, 2.5, {{"a", 1}, {"b", -0.5}});
  const auto records = payloads(file.bytes());
  REQUIRE(records.size() == 2);
  CHECK(records[0] == bytes_of({0x09, 0, 0, 0, 0, 0, 0, 0, 0x40, 0x1a, 13}) + "brain.Event:2");
  CHECK(records[1] == bytes_of({0x09, 0, 0,    0, 0,   0,    0, 0x04, 0x40, 0x10, 0xac, 0x02, 0x2a, 20,  //
                                0x0a, 8, 0x0a, 1, 'a', 0x15, 0, 0,    0x80, 0x3f,                        //
                                0x0a, 8, 0x0a, 1, 'b', 0x15, 0, 0,    0,    0xbf}));
}

bool has_tag(const std::string& record, const std::string& tag) { return record.find(tag) != std::string::npos; }

TEST_CASE("what a step did not measure has no point, a loss that is not a number has one", "[record]") {
  Trace trace;
  trace.steps.resize(2);
  trace.steps[0].step = 1;
  trace.steps[0].loss = exact_float(1.5F);
  trace.steps[0].samples = 32;
  trace.steps[0].step_time_ns = 1000;
  trace.steps[1] = trace.steps[0];
  trace.steps[1].step = 2;
  trace.steps[1].loss = exact_float(std::numeric_limits<float>::quiet_NaN());
  trace.steps[1].grad_norm = exact_float(3.0);
  trace.steps[1].anonymous_bytes = 4096;
  const auto records = payloads(event_file_of(trace, 0));
  REQUIRE(records.size() == 3);
  for (const char* tag : {"train/loss", "train/learning_rate", "throughput/step_time_s", "throughput/samples_per_s"}) {
    CHECK(has_tag(records[1], tag));
    CHECK(has_tag(records[2], tag));
  }
  for (const char* tag : {"train/grad_norm", "memory/anonymous_bytes"}) {
    CHECK_FALSE(has_tag(records[1], tag));
    CHECK(has_tag(records[2], tag));
  }
  for (const char* tag : {"memory/rss_bytes", "memory/allocated_bytes"}) CHECK_FALSE(has_tag(records[2], tag));
}

TEST_CASE("a step stands at the time it ended, or where that is not on record after the steps before it", "[record]") {
  Trace trace;
  trace.steps.resize(2);
  trace.steps[0].step_time_ns = trace.steps[1].step_time_ns = 500'000'000;
  const auto time_of = [&](std::size_t record) {
    double at_s = 0;
    std::memcpy(&at_s, payloads(event_file_of(trace, 10))[record].data() + 1, 8);
    return at_s;
  };
  CHECK(time_of(0) == 10);
  CHECK(time_of(1) == 10.5);
  CHECK(time_of(2) == 11);
  trace.steps[1].ended_ns = 4'000'000'000;
  CHECK(time_of(2) == 14);
}

}  // namespace
}  // namespace reprobench
