#include "matrix/spec/checkout.hpp"

#include <fstream>

#include <stdlib.h>
#include <sys/stat.h>

#include "ci/catch.hpp"
#include "ci/temporary.hpp"
#include "matrix/spec/files/call_list.hpp"
#include "matrix/spec/matrix_spec.hpp"
#include "matrix/spec/spec_fixture.hpp"
#include "matrix/spec/stack_spec.hpp"

namespace reprobench {
namespace {

namespace fs = std::filesystem;

// A checkout beside a secret.
struct Checkout {
  Checkout() {
    fs::create_directories(root() / ".git");
    fs::create_directories(root() / "matrix/stacks");
    std::ofstream(secret()) << "machine example.org login me password s3cr3t\n";
  }
  fs::path root() const { return place / "checkout"; }
  fs::path secret() const { return place / ".netrc"; }
  std::string linked(const std::string& name, const fs::path& to) const {
    fs::create_symlink(to, root() / name);
    return (root() / name).string();
  }
  TemporaryFolder folder;
  fs::path place = folder.path;
};

TEST_CASE("#41: a link of a checkout that leads out of it is not read, and no text behind it is shown", "[spec]") {
  using Catch::Contains;
  const Checkout checkout;
  const std::string leads = "a link leads out of " + checkout.root().string();
  const auto all_of = [&](const auto& read) {
    const std::string said = spec_error_of(read);
    CHECK_THAT(said, Contains(leads));
    CHECK_THAT(said, !Contains("s3cr3t"));
  };
  const std::string matrix = checkout.linked("matrix/m.yaml", checkout.secret());
  all_of([&] { load_matrix(matrix, Vocabulary()); });
  all_of([&] { load_call_list(matrix); });
  all_of([&] { load_stacks((checkout.root() / "matrix").string()); });
  // By a folder that is a link, and by a link to a link.
  checkout.linked("matrix/elsewhere", checkout.place);
  all_of([&] { load_call_list((checkout.root() / "matrix/elsewhere/.netrc").string()); });
  all_of([&] { load_call_list(checkout.linked("matrix/again.yaml", matrix)); });
  // What a file names.
  const std::string calls = (checkout.root() / "calls.yaml").string();
  checkout.linked("t.safetensors", checkout.secret());
  std::ofstream(calls)
      << "schema: 1\nname: calls\ntensors: t.safetensors\ncalls: [{call: \"relu(f32[2] from 'x')\"}]\n";
  all_of([&] { load_call_list(calls); });
}

TEST_CASE("a link within a checkout, and a file of a folder that is none, are read", "[spec]") {
  const Checkout checkout;
  std::ofstream(checkout.root() / "real.yaml") << "schema: 1\nname: real\ncalls: [{call: 'relu(f32[2])'}]\n";
  CHECK(load_call_list(checkout.linked("matrix/link.yaml", checkout.root() / "real.yaml")).calls.size() == 1);
  CHECK(leads_out(checkout.secret()).empty());
  CHECK(leads_out(checkout.place / "nothing").empty());
  fs::create_symlink(checkout.root(), checkout.place / "checkout by a link");
  CHECK(leads_out(checkout.place / "checkout by a link/real.yaml").empty());
}

}  // namespace
}  // namespace reprobench
