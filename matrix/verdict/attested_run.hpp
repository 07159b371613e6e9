// A judged run of two images, for tests of what is attested of it.
#pragma once

#include "matrix/verdict/attestation.hpp"

namespace reprobench::test {

inline CellVerdict cell_of(const char* slug, Outcome outcome, const char* device = "cpu") {
  CellVerdict cell;
  cell.cell_id = slug;
  cell.slug = slug;
  cell.coordinates = {{"stack", "candidate"}, {"device", device}};
  cell.outcome = outcome;
  return cell;
}

// `candidate`: the digest of its manifest. Two cells passed, one was skipped.
inline RunVerdict verdict_on_images(const std::string& candidate = "sha256:" + std::string(64, 'c')) {
  RunVerdict verdict;
  verdict.info.run_id = "r-1";
  verdict.info.matrix_digest = std::string(64, '1');
  verdict.info.started_utc = "2026-11-27T19:00:00Z";
  verdict.info.ended_utc = "2026-11-27T20:00:00Z";
  verdict.info.reprobench_version = "0.3.0";
  verdict.info.program_sha256 = std::string(64, '2');
  verdict.matrix = "image";
  verdict.suites = {{"smoke", std::string(64, '9')}};
  verdict.images = {
      {"candidate", {"team/new.tar", candidate, "clean", "nothing found", std::string(64, '3')}},
      {"reference", {"/srv/old", "root-sha256:" + std::string(64, '4'), "warned", "", std::string(64, '5')}}};
  verdict.word = "passed";
  verdict.exit_code = ExitCode::passed;
  verdict.sentence = "candidate qualified against reference on cpu: both cells that ran passed";
  verdict.cells = {cell_of("smoke-mlp", Outcome::passed), cell_of("smoke-gpt2", Outcome::passed),
                   cell_of("smoke-mlp-sm_90", Outcome::skipped, "sm_90")};
  verdict.totals.planned = 3;
  verdict.totals[Outcome::passed] = 2;
  verdict.totals[Outcome::skipped] = 1;
  verdict.seal = RunSeal{std::string(64, '6'), std::string(64, '7')};
  return verdict;
}

inline Attestation attested(const RunVerdict& verdict = verdict_on_images(), int valid_days = 30) {
  return std::get<Attestation>(attestation_of(verdict, std::string(64, '8'), valid_days));
}

}  // namespace reprobench::test
