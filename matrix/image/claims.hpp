// Claims about the content of an image, by the image itself or its publisher, compared with what was found there.
//
// Claims come from the tag ("2.1.0-cuda11.8-cudnn8-runtime"), from variables (CUDA_VERSION), from labels, and from a
// claims file (docker/claims/*.yaml), which holds what a release promises to people.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "matrix/contract/document/description.hpp"
#include "matrix/contract/document/words.hpp"
#include "matrix/image/image.hpp"
#include "matrix/image/image_software.hpp"
#include "matrix/plan/compat_facts.hpp"

namespace reprobench {

struct ImageClaim {
  std::string component;             // "cudnn"; a package's name; "driver"; "gpu"; "jupyter", "ssh"
  std::vector<std::string> choices;  // the claim is one of these: "8.6", ">=3.10", "any"
  std::string source;                // "ENV NV_CUDNN_VERSION", "docker/claims/v2.9.yaml:7:10"
};

struct ClaimsFile {
  std::string name;
  std::string published;  // the sentence that people read
  std::vector<ImageClaim> claims;
};

// Throws SpecError.
ClaimsFile parse_claims(const std::string& text, const std::string& file);
ClaimsFile load_claims(const std::string& path);

std::vector<ImageClaim> claims_of_tag(const std::string& tag);  // "team/pytorch:2.9.0-cuda12.8-cudnn9"
std::vector<ImageClaim> claims_of_image(const Image& image);

enum class ClaimWord { agrees, contradicted, unread };
template <>
struct Words<ClaimWord> {
  static constexpr std::array<std::string_view, 3> table = {"agrees", "contradicted", "unread"};
};

struct JudgedClaim {
  std::string component;
  std::string claimed;  // "11.8 or 12.1"
  std::string source;
  std::string found;     // version; empty: nothing was found
  std::string evidence;  // where it was found
  ClaimWord word = ClaimWord::unread;
  std::string why;     // a sentence; empty if it agrees
  std::string loaded;  // version that a worker inside had loaded; empty: none, or it is not known
};
template <>
struct Description<JudgedClaim> {
  static constexpr About about = About::part("image_claim", "What is said of an image, held against what is in it.");
  static void fields(auto& field, JudgedClaim& claim) {
    field("component", claim.component, rule::not_empty);
    field("claimed", claim.claimed, rule::not_empty);
    field("source", claim.source, rule::not_empty);
    field("found", claim.found, "Version; empty: nothing was found.");
    field("evidence", claim.evidence);
    field("word", claim.word);
    field("why", claim.why);
    field.optional("loaded", claim.loaded, "With --run: what a worker inside had loaded; missing: nothing.");
    field.hold(claim.word == ClaimWord::agrees || !claim.why.empty(), "a claim that does not agree says why");
  }
};

// A claim that cannot be checked by an image's files is `unread`. A driver is the host's, so a claim about it is
// compared with what the CUDA in the image needs.
std::vector<JudgedClaim> judge_claims(const std::vector<ImageClaim>& claims, const Image& image,
                                      const ImageSoftware& software, const CompatFacts& facts);

// Whether a choice covers `found`: "2.9" covers 2.9.1+cu128, ">=3.10" covers 3.12, "any" everything.
bool choice_names(std::string_view choice, std::string_view found);

}  // namespace reprobench
