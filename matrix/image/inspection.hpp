// The document `inspection`: the claims about an image, its content, and its problems. `reprobench image inspect`
// prints it; nothing of the image is run for it.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "matrix/contract/result.hpp"
#include "matrix/image/claims.hpp"
#include "matrix/image/image_security.hpp"
#include "matrix/plan/compat_facts.hpp"

namespace reprobench {

// refused: a claim is contradicted, or a finding fails. undecided: something could not be read. warned, clean: neither.
enum class InspectionWord { refused, undecided, warned, clean };
template <>
struct Words<InspectionWord> {
  static constexpr std::array<std::string_view, 4> table = {"refused", "undecided", "warned", "clean"};
};

template <>
struct Description<ImageLayer> {
  static constexpr About about = About::part("image_layer");
  static void fields(auto& field, ImageLayer& layer) {
    field("digest", layer.digest);
    field("created_by", layer.created_by, "Of the image's history; empty: it says nothing.");
    field("entries", layer.entries, rule::at_least(0));
    field("unpacked_bytes", layer.unpacked_bytes, rule::at_least(0));
  }
};

struct ComponentRow {
  std::string component;
  std::string version;
  std::string evidence;
  std::string loaded;  // version that a worker inside had loaded; empty: none, or it is not known
};
template <>
struct Description<ComponentRow> {
  static constexpr About about = About::part("image_component");
  static void fields(auto& field, ComponentRow& row) {
    field("component", row.component, rule::not_empty);
    field("version", row.version);
    field("evidence", row.evidence, "The file that says so.");
    field.optional("loaded", row.loaded, "With --run: what a worker inside had loaded; missing: nothing.");
  }
};

template <>
struct Description<ImageLibrary> {
  static constexpr About about = About::part("image_library");
  static void fields(auto& field, ImageLibrary& library) {
    field("name", library.name, rule::not_empty);
    field("path", library.path, rule::not_empty);
    field("component", library.component);
    field("identity", library.identity, "Build id, or sha256: and a digest; empty: its bytes were not read.");
    field("version", library.version, "Empty: nothing tells.");
    field("evidence", library.evidence);
    field("record", library.record, "Whether its bytes are those that its package recorded.");
    field("is_taken", library.is_taken, "Whether the loader would take it for the PyTorch of this image.");
    field("capabilities", library.capabilities,
          "Compute capabilities of its device code; +PTX: as text for later GPUs.");
  }
};

struct Inspection {
  std::string image;
  ImageForm form = ImageForm::root;
  std::string digest;
  std::vector<std::string> tags;
  std::string user;
  std::int64_t entries = 0;
  std::vector<ImageLayer> layers;
  std::vector<std::string> torches;
  std::vector<ComponentRow> components;
  std::vector<ImageLibrary> libraries;
  std::vector<JudgedClaim> claims;
  std::vector<ImageFinding> findings;
  InspectionWord word = InspectionWord::undecided;
  std::string summary;
};
template <>
struct Description<Inspection> {
  static constexpr About about = About::document("inspection", "reprobench image inspect IMAGE --json");
  static void fields(auto& field, Inspection& inspection) {
    field("image", inspection.image, "As it was named.");
    field("form", inspection.form);
    field("digest", inspection.digest, "Of the manifest, of `docker save` the configuration; empty: an unpacked root.");
    field("tags", inspection.tags);
    field("user", inspection.user, "Empty: root.");
    field("entries", inspection.entries, rule::at_least(0).says("Files, folders and links, with all layers applied."));
    field("layers", inspection.layers);
    field("torches", inspection.torches, "Folders of PyTorch; the first is the one that is inspected.");
    field("components", inspection.components);
    field("libraries", inspection.libraries);
    field("claims", inspection.claims);
    field("findings", inspection.findings, "The worst first.");
    field("word", inspection.word);
    field("summary", inspection.summary);
  }
};

// `files` has the promises of releases, beside the image's own claims.
Inspection inspect_image(const Image& image, const std::vector<ClaimsFile>& files, const CompatFacts& facts);

// Adds what a worker inside this image had loaded. Another version than the one that was found is a finding that fails,
// because what was inspected is then not what computed.
void add_loaded(const Fingerprint& loaded, Inspection& inspection);

// Whether an inspection reads the bytes of a file.
bool is_evidence(std::string_view path, std::int64_t size_bytes);

// For CI: one test case for every claim, one for every finding, and one for the image as a whole.
std::string to_junit(const Inspection& inspection);

}  // namespace reprobench
