#include "matrix/plan/known_defects.hpp"

#include "ci/catch.hpp"

using namespace reprobench;

namespace {

using Texts = std::vector<std::string>;

KnownDefect defect(const std::string& id, const std::map<std::string, std::string>& components) {
  KnownDefect row;
  row.id = id;
  for (const auto& [name, range] : components) row.components.emplace(name, VersionRange::parse(range));
  return row;
}

struct Ids {
  Texts apply;
  Texts may_apply;
};

Ids ids_of(const std::vector<KnownDefect>& known, const std::map<std::string, std::string>& components) {
  Ids ids;
  const DefectsOfStack found = known_defects_of(known, components);
  for (const KnownDefect& one : found.apply) ids.apply.push_back(one.id);
  for (const KnownDefect& one : found.may_apply) ids.may_apply.push_back(one.id);
  return ids;
}

const std::vector<KnownDefect> kKnown = {defect("conv", {{"cudnn", ">=9.8 <9.13"}}),
                                         defect("nan", {{"torch", "2.7.1"}, {"sm", "12.0"}})};

}  // namespace

TEST_CASE("a defect applies where every version it depends on is affected", "[plan]") {
  CHECK(ids_of(kKnown, {{"cudnn", "9.10.2.21"}}).apply == Texts{"conv"});
  CHECK(ids_of(kKnown, {{"torch", "2.7.1+cu128"}, {"sm", "12.0"}}).apply == Texts{"nan"});
  CHECK(ids_of(kKnown, {{"torch", "2.7.1"}, {"sm", "12.0"}, {"cudnn", "9.8.0"}}).apply == Texts{"conv", "nan"});
}

TEST_CASE("one version that is not affected acquits", "[plan]") {
  const Ids ids = ids_of(kKnown, {{"torch", "2.7.1"}, {"sm", "9.0"}, {"cudnn", "9.13.0.50"}});
  CHECK(ids.apply.empty());
  CHECK(ids.may_apply.empty());
}

TEST_CASE("a version that is missing or too short leaves a defect possible", "[plan]") {
  CHECK(ids_of(kKnown, {{"torch", "2.7.1"}}).may_apply == Texts{"nan"});
  CHECK(ids_of(kKnown, {{"torch", "2.7"}, {"sm", "12.0"}}).may_apply == Texts{"nan"});
  CHECK(ids_of(kKnown, {{"cudnn", "9"}}).may_apply == Texts{"conv"});
  CHECK(ids_of(kKnown, {{"cudnn", "nine"}}).may_apply == Texts{"conv"});
  CHECK(ids_of(kKnown, {{"torch", "2.7"}, {"sm", "12.0"}}).apply.empty());
}

TEST_CASE("of a stack without any of the components nothing is said", "[plan]") {
  const Ids ids = ids_of(kKnown, {{"python", "3.12"}});
  CHECK(ids.apply.empty());
  CHECK(ids.may_apply.empty());
}
