// The calls that listeners are shown, and the threads on which listeners run.
#include "suites/worker/record/operator_hook.hpp"

#include <algorithm>
#include <thread>

#include <ATen/core/Tensor.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/ones.h>

#include "ci/catch.hpp"

namespace reprobench {
namespace {

// Each call by name, and how many have not ended.
class SeenCalls final : public OperatorListener {
 public:
  void started(OperatorCall& call) override {
    CHECK(call.depth == open_++);
    names_.push_back(call.name);
  }
  void ended(OperatorCall&) override { --open_; }

  auto count(const std::string& name) const { return std::count(names_.begin(), names_.end(), name); }
  std::size_t count() const { return names_.size(); }
  const std::vector<std::string>& names() const { return names_; }
  int open() const { return open_; }

 private:
  std::vector<std::string> names_;
  int open_ = 0;
};

at::Tensor leaf() { return at::ones({4, 4}).requires_grad_(true); }

// As for tensors on a GPU, whose nodes run on a thread of LibTorch's own.
TEST_CASE("a backward pass on another thread is shown with all it calls", "[worker]") {
  SeenCalls calls;
  const at::Tensor weight = leaf();
  {
    const OperatorHook hook({&calls});
    const at::Tensor loss = at::mm(weight, weight).sum();
    CHECK(calls.count("aten::mm") == 1);
    std::thread([&] { loss.backward(); }).join();
    OperatorHook::rethrow_failure();
  }
  CHECK(calls.count("MmBackward0") == 1);
  CHECK(calls.count("aten::mm") == 3);
  CHECK(calls.open() == 0);
  CHECK(weight.grad().defined());
}

// From the first node on; what `backward()` itself does before belongs to its caller.
TEST_CASE("a backward pass is shown alike from whichever thread it runs on", "[worker]") {
  const auto seen = [](bool elsewhere) {
    SeenCalls calls;
    const at::Tensor weight = leaf();
    const at::Tensor loss = at::mm(weight, weight).relu().sum();
    const OperatorHook hook({&calls});
    if (elsewhere) {
      std::thread([&] { loss.backward(); }).join();
    } else {
      loss.backward();
    }
    OperatorHook::rethrow_failure();
    const auto first = std::find_if(calls.names().begin(), calls.names().end(),
                                    [](const std::string& name) { return name.find("autograd::engine") == 0; });
    return std::vector<std::string>(first, calls.names().end());
  };
  CHECK(seen(true) == seen(false));
  CHECK(seen(true).size() > 8);
}

TEST_CASE("operators of a thread that runs no backward node are not shown", "[worker]") {
  SeenCalls calls;
  const OperatorHook hook({&calls});
  std::thread([] { at::mm(at::ones({4, 4}), at::ones({4, 4})); }).join();
  CHECK(calls.count() == 0);
  at::ones({2});
  CHECK(calls.count("aten::ones") == 1);
}

TEST_CASE("two threads at once are shown one after the other", "[worker]") {
  SeenCalls calls;
  const OperatorHook hook({&calls});
  const at::Tensor here = at::mm(leaf(), leaf()).sum();
  const at::Tensor there = at::mm(leaf(), leaf()).sum();
  std::thread other([&] {
    for (int i = 0; i < 50; ++i) there.backward({}, /*retain_graph=*/true);
  });
  for (int i = 0; i < 50; ++i) here.backward({}, /*retain_graph=*/true);
  other.join();
  OperatorHook::rethrow_failure();
  CHECK(calls.open() == 0);
}

TEST_CASE("what a pause covers is not shown, before and after it is", "[worker]") {
  SeenCalls calls;
  const OperatorHook hook({&calls});
  {
    const OperatorPause pause;
    at::mm(at::ones({4, 4}), at::ones({4, 4}));
  }
  CHECK(calls.count() == 0);
  at::mm(at::ones({4, 4}), at::ones({4, 4}));
  CHECK(calls.count("aten::mm") == 1);
}

}  // namespace
}  // namespace reprobench
