#include "matrix/spec/version_agreement.hpp"

#include "ci/catch.hpp"

using namespace reprobench;

namespace {

std::vector<std::string> texts_of(const std::map<std::string, std::string>& declared, const ComponentVersion& found) {
  Fingerprint fingerprint;
  fingerprint.components = {found};
  std::vector<std::string> texts;
  for (const auto& disagreement : find_version_disagreements(declared, fingerprint)) texts.push_back(disagreement.text);
  return texts;
}

using Texts = std::vector<std::string>;

}  // namespace

TEST_CASE("a declared version agrees with more exact forms of itself only", "[spec]") {
  CHECK(agrees_with("12.8", "12.8.90"));
  CHECK(agrees_with("2.9.0+cu128", "2.9.0"));
  CHECK(agrees_with("2.9.0+cu128", "2.9.0+cu128"));
  CHECK_FALSE(agrees_with("2.9.0+cu128", "2.9.0+cu126"));
  CHECK_FALSE(agrees_with("12.8", "12.80"));
  CHECK_FALSE(agrees_with("12.8", "12"));
  CHECK_FALSE(agrees_with("9.10.2", "9.10.1.4"));
}

TEST_CASE("a component gives one finding, whether compiled, loaded or both disagree", "[spec]") {
  const std::map<std::string, std::string> declared = {{"torch", "2.9.0+cu128"}};
  CHECK(texts_of(declared, {"torch", "2.9.0", "2.9.0+cu128", "lib"}).empty());
  CHECK(texts_of(declared, {"torch", "", "", ""}).empty());
  CHECK(texts_of(declared, {"torch", "2.8.0", "2.9.0", "lib"}) ==
        Texts{"torch: declared 2.9.0+cu128, compiled against 2.8.0"});
  CHECK(texts_of(declared, {"torch", "2.9.0", "2.8.0", "lib"}) ==
        Texts{"torch: declared 2.9.0+cu128, loaded 2.8.0 from lib"});
  CHECK(texts_of(declared, {"torch", "2.8.0", "2.8.0", "lib"}) ==
        Texts{"torch: declared 2.9.0+cu128, compiled against and loaded 2.8.0 from lib"});
  CHECK(texts_of(declared, {"torch", "2.7.0", "2.8.0", "lib"}) ==
        Texts{"torch: declared 2.9.0+cu128, compiled against 2.7.0, loaded 2.8.0 from lib"});
}

TEST_CASE("CUDA, cuDNN and NCCL may be compiled against an older release of their major, torch may not", "[spec]") {
  const std::map<std::string, std::string> declared = {{"cudnn", "9.10.2"}, {"torch", "2.9.0"}};
  CHECK(texts_of(declared, {"cudnn", "9.8.0", "9.10.2", "lib"}).empty());
  CHECK(texts_of(declared, {"cudnn", "9.11.0", "9.10.2", "lib"}).size() == 1);
  CHECK(texts_of(declared, {"cudnn", "8.9.2", "9.10.2", "lib"}).size() == 1);
  CHECK(texts_of(declared, {"cudnn", "9.8.0", "9.9.0", "lib"}).size() == 1);
  CHECK(texts_of(declared, {"torch", "2.8.0", "2.9.0", "lib"}).size() == 1);
}

TEST_CASE("what nobody declares must be compiled against what it loads, where both are versions", "[spec]") {
  CHECK(texts_of({}, {"onednn", "3.7.1", "3.6.0", "lib"}) ==
        Texts{"onednn: compiled against 3.7.1, loaded 3.6.0 from lib"});
  CHECK(texts_of({}, {"onednn", "3.7", "3.7.1", "lib"}).empty());
  CHECK(texts_of({}, {"onednn", "3.7.1", "3.7", "lib"}).empty());
  CHECK(texts_of({}, {"cuda", "12.6", "12.8.90", "lib"}).empty());
  CHECK(texts_of({}, {"blas", "mkl", "2024.2", "lib"}).empty());
}

TEST_CASE("a disagreement in the last number alone says so", "[spec]") {
  Fingerprint fingerprint;
  const std::map<std::string, std::string> declared = {{"torch", "1.13.1"}};
  fingerprint.components = {{"torch", "1.13.0", "1.13.0", "lib"}};
  CHECK(find_version_disagreements(declared, fingerprint).at(0).is_patch_only);
  fingerprint.components = {{"torch", "1.13.0", "1.12.1", "lib"}};
  CHECK_FALSE(find_version_disagreements(declared, fingerprint).at(0).is_patch_only);
  fingerprint.components = {{"torch", "1.12.0", "1.13.1", "lib"}};
  CHECK_FALSE(find_version_disagreements(declared, fingerprint).at(0).is_patch_only);
}
