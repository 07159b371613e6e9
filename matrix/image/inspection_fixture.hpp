// A root as pip leaves it, which a test puts wrong, and what its inspection says.
#pragma once

#include <string>
#include <vector>

#include "ci/catch.hpp"
#include "matrix/image/image_fixture.hpp"
#include "matrix/image/image_root.hpp"
#include "matrix/image/inspection.hpp"
#include "matrix/provision/environment_fixture.hpp"

namespace reprobench::test {

inline const CompatFacts& facts() {
  static const CompatFacts kFacts = load_compat_facts(REPROBENCH_SOURCE_ROOT "/matrix/facts/compat-facts.json");
  return kFacts;
}

// Without known defects, which cuDNN 9.10.2 has.
inline const CompatFacts& facts_of_releases() {
  static const CompatFacts kWithout = [] {
    CompatFacts without = facts();
    without.known_defects.clear();
    return without;
  }();
  return kWithout;
}

// A root with PyTorch 9.8.7+cu128 and its cuDNN 9.10.2.21, as pip would have installed them.
struct Root : FakeEnvironment {
  ImageConfig config{};
  std::vector<std::string> tags{};

  Root() {
    record("nvidia_cudnn_cu12-9.10.2.21", {"nvidia/cudnn/lib/libcudnn.so.9", "nvidia/cudnn/lib/libcudnn_ops.so.9"});
    write_file(root() / "etc/passwd", "root:x:0:0::/root:/bin/sh\n");
    write_file(root() / "etc/shadow", "root:*:19000:0:99999:7:::\n");
  }

  void record(const std::string& package, const std::vector<std::string>& files) const {
    std::string text;
    for (const std::string& file : files) {
      Sha256 sha;
      sha.update(read_file(site() / file));
      text += file + ",sha256=" + to_base64url(sha.finish()) + ",1\n";
    }
    write_file(site() / (package + ".dist-info/RECORD"), text);
  }

  Inspection inspect(const std::vector<ClaimsFile>& claims = {}) const {
    Image image;
    image.name = root().string();
    read_root(image, root(), {});
    image.config = config;
    image.tags = tags;
    return inspect_image(image, claims, facts_of_releases());
  }
};

// "fail second-copy /path", one a finding.
inline std::vector<std::string> codes(const Inspection& inspection) {
  std::vector<std::string> said;
  for (const ImageFinding& finding : inspection.findings) {
    said.push_back(std::string(to_string(finding.severity)) + " " + finding.code + " " + finding.path);
  }
  return said;
}

using Codes = std::vector<std::string>;

inline const JudgedClaim& claim_of(const Inspection& inspection, const std::string& component) {
  for (const JudgedClaim& claim : inspection.claims) {
    if (claim.component == component) return claim;
  }
  FAIL("no claim of " + component);
  throw std::logic_error("unreachable");
}

inline std::string version_of(const Inspection& inspection, const std::string& component) {
  for (const ComponentRow& row : inspection.components) {
    if (row.component == component) return row.version;
  }
  return "";
}

inline constexpr const char* kSite = "/lib/python3.12/site-packages/";

}  // namespace reprobench::test
