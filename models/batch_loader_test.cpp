#include "models/batch_loader.hpp"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <set>
#include <stdexcept>
#include <string>

#include "ci/catch.hpp"

namespace reprobench {
namespace {

using namespace std::chrono_literals;

// A batch that says which step it is of. Later steps of a pair are made sooner, so that order is not an accident.
void make_batch(std::int64_t step, LoadedBatch& batch) {
  if (step % 2 == 1) std::this_thread::sleep_for(1ms);
  batch.samples = {step, 10 * step};
  batch.fields.assign(1, std::vector<std::byte>(2, static_cast<std::byte>(step)));
}

std::size_t threads_of_process() {
  const std::filesystem::directory_iterator tasks("/proc/self/task");
  return static_cast<std::size_t>(std::distance(begin(tasks), end(tasks)));
}

// The kernel lists a thread for a moment after it was joined.
std::size_t threads_left(std::size_t expected) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (threads_of_process() > expected && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return threads_of_process();
}

TEST_CASE("batches come in the order of steps whatever the number of threads", "[loader]") {
  for (const int threads : {1, 2, 5}) {
    for (const int ahead : {1, 2, 7}) {
      INFO(threads << " threads, " << ahead << " ahead");
      BatchLoader loader(&make_batch, threads, ahead, 3, 30);
      for (std::int64_t step = 3; step <= 30; ++step) {
        CHECK(loader.next() == step);
        const LoadedBatch& batch = loader.take();
        CHECK(batch.samples == std::vector<std::int64_t>{step, 10 * step});
        CHECK(batch.fields.at(0) == std::vector<std::byte>(2, static_cast<std::byte>(step)));
      }
      CHECK_THROWS_AS(loader.take(), std::logic_error);
    }
  }
}

TEST_CASE("a batch in hand stays as it is while others are made", "[loader]") {
  BatchLoader loader(&make_batch, 4, 2, 1, 100);
  for (std::int64_t step = 1; step <= 20; ++step) {
    const LoadedBatch& batch = loader.take();
    std::this_thread::sleep_for(2ms);
    CHECK(batch.samples[0] == step);
    CHECK(batch.fields[0][1] == static_cast<std::byte>(step));
  }
}

TEST_CASE("no more is made than is asked for ahead", "[loader]") {
  for (const int threads : {1, 4}) {
    std::atomic<std::int64_t> furthest = 0;
    BatchLoader loader(
        [&](std::int64_t step, LoadedBatch&) {
          std::int64_t before = furthest;
          while (before < step && !furthest.compare_exchange_weak(before, step)) {
          }
        },
        threads, 3, 1, 100);
    const auto settles_at = [&](std::int64_t step) {
      for (int i = 0; i < 10'000 && furthest < step; ++i) std::this_thread::sleep_for(1ms);
      std::this_thread::sleep_for(10ms);
      return furthest == step;
    };
    CHECK(settles_at(3));
    loader.take();
    loader.take();
    CHECK(settles_at(5));
  }
}

TEST_CASE("every thread takes part, and none makes what another does", "[loader]") {
  std::mutex mutex;
  std::condition_variable met;
  std::set<std::thread::id> makers;
  std::multiset<std::int64_t> made;
  {
    BatchLoader loader(
        [&](std::int64_t step, LoadedBatch&) {
          std::unique_lock lock(mutex);
          makers.insert(std::this_thread::get_id());
          made.insert(step);
          met.notify_all();
          met.wait_for(lock, 10s, [&] { return makers.size() == 3; });
        },
        3, 6, 1, 30);
    for (int i = 0; i < 30; ++i) loader.take();
  }
  CHECK(makers.size() == 3);
  CHECK_FALSE(makers.contains(std::this_thread::get_id()));
  CHECK(made.size() == 30);
  CHECK(std::set(made.begin(), made.end()).size() == 30);
}

TEST_CASE("what goes wrong with a batch is thrown where it is asked for, not before", "[loader]") {
  BatchLoader loader(
      [](std::int64_t step, LoadedBatch& batch) {
        if (step == 4) throw std::runtime_error("sample 17 cannot be read");
        make_batch(step, batch);
      },
      3, 6, 1, 10);
  for (std::int64_t step = 1; step <= 3; ++step) CHECK(loader.take().samples[0] == step);
  CHECK_THROWS_WITH(loader.take(), "sample 17 cannot be read");
  CHECK(loader.take().samples[0] == 5);  // others are whole
}

TEST_CASE("a loader that is dropped leaves no thread, however far it is", "[loader]") {
  const std::size_t before = threads_of_process();
  for (const int taken : {0, 1, 5, 20}) {
    {
      BatchLoader loader(&make_batch, 4, 8, 1, 20);
      for (int i = 0; i < taken; ++i) loader.take();
      CHECK(threads_of_process() <= before + 4);
    }
    CHECK(threads_left(before) == before);
  }
  {
    BatchLoader waiting([](std::int64_t, LoadedBatch&) { std::this_thread::sleep_for(5ms); }, 2, 4, 1, 1000);
    CHECK(threads_left(before + 2) == before + 2);
  }
  CHECK(threads_left(before) == before);
  const BatchLoader nothing(&make_batch, 4, 8, 3, 2);
  CHECK(threads_left(before) == before);
}

}  // namespace
}  // namespace reprobench
