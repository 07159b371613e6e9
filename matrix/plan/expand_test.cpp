#include <set>

#include "ci/catch.hpp"
#include "matrix/base/sha256.hpp"
#include "matrix/plan/cell_grid.hpp"
#include "matrix/plan/cell_id.hpp"
#include "matrix/plan/plan_fixture.hpp"
#include "matrix/plan/rule_use.hpp"
#include "matrix/spec/spec_fixture.hpp"

using namespace reprobench;

namespace {

using Suites = std::map<std::string, SuiteSpec>;

Suites smoke_suite(const std::string& more = "") { return {{"smoke", parse_test_suite("smoke", more)}}; }

std::vector<std::string> slugs(const std::vector<Cell>& cells) {
  std::vector<std::string> list;
  for (const Cell& cell : cells) list.push_back(cell.slug);
  return list;
}

std::vector<Cell> cells_of(std::vector<PlannedCell> planned) {
  std::vector<Cell> cells;
  for (PlannedCell& one : planned) cells.push_back(std::move(one.cell));
  return cells;
}

std::vector<Cell> expand_test(const std::string& body, const Suites& suites = smoke_suite()) {
  return cells_of(expand(parse_test_matrix(body), suites));
}

std::string error_of(const std::string& body, const Suites& suites = smoke_suite()) {
  return spec_error_of([&] { expand_test(body, suites); });
}

const CellThreshold* find_threshold(const Cell& cell, const std::string& metric) {
  for (const CellThreshold& threshold : cell.thresholds) {
    if (threshold.metric == metric) return &threshold;
  }
  return nullptr;
}

}  // namespace

TEST_CASE("suites are outermost, then workloads, then axes with the last varying fastest", "[plan]") {
  const std::string text =
      "schema: 1\nname: two\nworkloads:\n  - {model: mlp, preset: default, steps: 20, batch_size: 32}\n"
      "  - {model: mlp, preset: wide, steps: 20, batch_size: 32}\n";
  const Suites suites = {{"smoke", parse_test_suite("smoke")},
                         {"two", parse_suite(text, "two.yaml", test_vocabulary())}};
  const MatrixSpec matrix =
      parse_matrix("schema: 1\nname: m\nsuites: [two, smoke]\naxes: {stack: [a, b], precision: [fp32, bf16]}\n",
                   "m.yaml", test_vocabulary());
  CHECK(slugs(cells_of(expand(matrix, suites))) ==
        std::vector<std::string>{"two-mlp.default-a-cpu-fp32", "two-mlp.default-a-cpu-bf16",
                                 "two-mlp.default-b-cpu-fp32", "two-mlp.default-b-cpu-bf16", "two-mlp.wide-a-cpu-fp32",
                                 "two-mlp.wide-a-cpu-bf16", "two-mlp.wide-b-cpu-fp32", "two-mlp.wide-b-cpu-bf16",
                                 "smoke-mlp-a-cpu-fp32", "smoke-mlp-a-cpu-bf16", "smoke-mlp-b-cpu-fp32",
                                 "smoke-mlp-b-cpu-bf16"});
}

TEST_CASE("zipped axes advance together where the first of them stands", "[plan]") {
  CHECK(slugs(expand_test("axes: {stack: [a, b], device: [cpu, sm_90], precision: [fp32, bf16]}\n"
                          "zip: [[stack, precision]]\n")) ==
        std::vector<std::string>{"smoke-mlp-a-cpu-fp32", "smoke-mlp-a-sm_90-fp32", "smoke-mlp-b-cpu-bf16",
                                 "smoke-mlp-b-sm_90-bf16"});
}

TEST_CASE("a value that is a number has its knob's name beside it", "[plan]") {
  CHECK(slugs(expand_test("axes: {stack: [a], zero_stage: [0, 2], max_grad_norm: [0.5]}\n")) ==
        std::vector<std::string>{"smoke-mlp-a-cpu-max_grad_norm-0.5-zero_stage-0",
                                 "smoke-mlp-a-cpu-max_grad_norm-0.5-zero_stage-2"});
}

TEST_CASE("exclude removes cells and include appends them", "[plan]") {
  CHECK(slugs(expand_test("axes: {stack: [a, b], device: [cpu, sm_90]}\n"
                          "exclude: [{where: \"stack == b and device == sm_90\"}]\n"
                          "include: [{stack: c, device: sm_80, precision: fp64}]\n")) ==
        std::vector<std::string>{"smoke-mlp-a-cpu", "smoke-mlp-a-sm_90", "smoke-mlp-b-cpu", "smoke-mlp-c-sm_80-fp64"});
}

TEST_CASE("what exclude takes away is counted, each cell once", "[plan]") {
  std::int64_t excluded = -1;
  const auto count = [&](const std::string& rules) {
    expand(parse_test_matrix("axes: {stack: [a, b], device: [cpu, sm_90]}\n" + rules), smoke_suite(), &excluded);
    return excluded;
  };
  CHECK(count("") == 0);
  CHECK(count("exclude: [{stack: b}, {device: sm_90}]\n") == 3);
}

TEST_CASE("an axis overrides the matrix's defaults and the suite's knobs", "[plan]") {
  const auto cells = expand_test("axes: {stack: [a], precision: [bf16]}\ndefaults: {precision: fp64, threads: 2}\n",
                                 smoke_suite("knobs: {threads: 2, precision: fp32, seed: 7}\n"));
  REQUIRE(cells.size() == 1);
  CHECK(knob_of(cells[0], "precision") == "bf16");
  CHECK(knob_of(cells[0], "threads") == "2");
  CHECK(knob_of(cells[0], "seed") == "7");
  CHECK(knob_of(cells[0], "determinism") == "strict");
}

TEST_CASE("a default that undoes what a suite is about is refused", "[plan]") {
  const auto error = [](const std::string& body) {
    return error_of(body, smoke_suite("knobs: {sequence_lengths: bucketed}\n"));
  };
  CHECK(error("axes: {stack: [a]}\ndefaults: {sequence_lengths: fixed}\n") ==
        "m.yaml:5:1: error[RB039]: `sequence_lengths: fixed` takes the place of `sequence_lengths: bucketed` of suite "
        "`smoke` at smoke.yaml:1:1; an axis `sequence_lengths: [fixed]` does so for all to see");
  CHECK(error("axes: {stack: [a]}\ndefaults: {sequence_lengths: bucketed, threads: 2}\n").empty());
  CHECK(error("axes: {stack: [a], sequence_lengths: [fixed]}\ndefaults: {sequence_lengths: fixed}\n").empty());
}

TEST_CASE("a cell's reference is the cell that differs in nothing but the reference's coordinates", "[plan]") {
  const auto cells =
      expand_test("axes: {stack: [a, b, c], device: [cpu, sm_90], precision: [fp32, bf16]}\nreference: {stack: b}\n");
  REQUIRE(cells.size() == 12);
  std::map<std::string, const Cell*> by_id;
  for (const Cell& cell : cells) by_id[cell.request.cell_id] = &cell;
  for (const Cell& cell : cells) {
    INFO(cell.slug);
    CHECK(cell.reference_cell_id.has_value() == (cell.request.stack != "b"));
    if (!cell.reference_cell_id) continue;
    Coordinates expected = cell.coordinates;
    expected["stack"] = "b";
    CHECK(by_id.at(*cell.reference_cell_id)->coordinates == expected);
  }
}

TEST_CASE("bounds against the reference do not hold for the reference itself", "[plan]") {
  const auto cells =
      expand_test("axes: {stack: [a, b]}\nreference: {stack: b}\n",
                  smoke_suite("thresholds:\n  throughput.step_time: {max_regression: 5%, vs: reference}\n"
                              "  numerics.repeat_mismatches: {max: 0}\n"));
  CHECK(find_threshold(cells[0], "throughput.step_time") != nullptr);
  CHECK(find_threshold(cells[1], "throughput.step_time") == nullptr);
  CHECK(find_threshold(cells[1], "numerics.repeat_mismatches") != nullptr);
}

TEST_CASE("the last rule that selects a cell holds, and a bare gate keeps the bound", "[plan]") {
  const auto cells = expand_test(
      "axes: {stack: [a, b, c], precision: [fp32]}\n"
      "thresholds:\n"
      "  memory.peak_rss:\n"
      "    - {max: 2GiB, where: {stack: b}}\n"
      "    - {gate: record_only, where: {stack: [b, c]}}\n",
      smoke_suite("thresholds:\n  memory.peak_rss: {max: 1GiB, where: {precision: fp32}}\n"));
  const auto* a = find_threshold(cells[0], "memory.peak_rss");
  const auto* b = find_threshold(cells[1], "memory.peak_rss");
  const auto* c = find_threshold(cells[2], "memory.peak_rss");
  REQUIRE((a && b && c));
  CHECK(a->bound.text == "max: 1GiB");
  CHECK(a->gate == Gate::armed);
  CHECK(b->bound.text == "max: 2GiB");
  CHECK(b->gate == Gate::record_only);
  CHECK(to_string(b->mark) == "m.yaml:7:7");
  CHECK(c->bound.text == "max: 1GiB");
  CHECK(c->gate == Gate::record_only);
  CHECK(c->mark.file == "smoke.yaml");
}

TEST_CASE("a gate of a family of metrics is that of each bound on one of them", "[plan]") {
  const std::string suite =
      "thresholds:\n  memory.peak_rss: {max: 1GiB}\n  memory.anonymous_growth: {max: 1MiB}\n"
      "  numerics.repeat_mismatches: {max: 0}\n";
  const auto recorded = [&](const std::string& rules) {
    std::string names;
    const auto cells = expand_test("axes: {stack: [a, b]}\nthresholds:\n" + rules, smoke_suite(suite));
    for (const CellThreshold& threshold : cells[1].thresholds) {
      if (threshold.gate == Gate::record_only) names += threshold.metric + " ";
    }
    CHECK(std::ranges::none_of(cells[0].thresholds, [](const auto& one) { return one.gate == Gate::record_only; }));
    return names;
  };
  CHECK(recorded("  memory.*: {gate: record_only, where: {stack: b}}\n") == "memory.peak_rss memory.anonymous_growth ");
  CHECK(recorded("  memory.*:\n    - {gate: record_only, where: {stack: b}}\n"
                 "  memory.peak_rss: {gate: armed, where: {stack: b}}\n") == "memory.anonymous_growth ");
}

TEST_CASE("a matrix that says how often a cell runs says so of the most, too", "[plan]") {
  const auto repeats_of = [](const std::string& of_suite, const std::string& of_matrix) {
    const SuiteSpec suite = parse_test_suite("smoke", of_suite);
    const auto cells = expand(parse_test_matrix("axes: {stack: [a]}\n" + of_matrix), {{"smoke", suite}});
    return std::pair(cells.at(0).cell.repeat, cells.at(0).cell.max_repeat);
  };
  CHECK(repeats_of("repeat: 7\nmax_repeat: 28\n", "") == std::pair(7, 28));
  CHECK(repeats_of("repeat: 7\nmax_repeat: 7\n", "") == std::pair(7, 0));
  CHECK(repeats_of("repeat: 7\n", "") == std::pair(7, 0));
  CHECK(repeats_of("repeat: 7\nmax_repeat: 28\n", "repeat: 3\n") == std::pair(3, 0));
  CHECK(repeats_of("repeat: 7\nmax_repeat: 28\n", "repeat: 3\nmax_repeat: 9\n") == std::pair(3, 9));
  CHECK(repeats_of("", "repeat: 3\nmax_repeat: 9\n") == std::pair(3, 9));
}

TEST_CASE("trainings on the CPU take as many turns as their suite says, the last one with what is left", "[plan]") {
  const auto turn_steps_of = [](const std::string& workload, const std::string& device) {
    const SuiteSpec suite =
        parse_suite("schema: 1\nname: smoke\nexclusive: true\nturns: 8\nworkloads: [" + workload + "]\n", "smoke.yaml",
                    test_vocabulary());
    const auto cells = expand(parse_test_matrix("axes: {stack: [a], device: [" + device + "]}\n"), {{"smoke", suite}});
    return cells.at(0).cell.request.turn_steps;
  };
  const auto training = [](int steps, const std::string& more = "") {
    return fmt::format("{{model: mlp, preset: base, steps: {}, batch_size: 8{}}}", steps, more);
  };
  CHECK(turn_steps_of(training(80), "cpu") == 10);
  CHECK(turn_steps_of(training(81), "cpu") == 11);
  CHECK(turn_steps_of(training(3), "cpu") == 1);
  CHECK(turn_steps_of(training(80), "sm_90") == 0);
  CHECK(turn_steps_of(training(80, ", resume_after: 40"), "cpu") == 0);
  CHECK(turn_steps_of("{probe: device_memory, preset: base, samples: 5}", "cpu") == 0);
  CHECK(expand_test("axes: {stack: [a]}\n").at(0).request.turn_steps == 0);
}

TEST_CASE("required marks, repeats, limits and faults reach the cells they select", "[plan]") {
  const auto cells = expand_test(
      "axes: {stack: [a, b]}\nrepeat: 3\ntimeout: 90s\nrequired: [{stack: a}]\n"
      "inject: [{where: {stack: b}, repeat: 1, kind: weight_ulp, step: 20, tensor: fc1.weight, element: 5}]\n");
  CHECK(cells[0].required);
  CHECK_FALSE(cells[1].required);
  CHECK(cells[0].repeat == 3);
  CHECK(cells[0].limits.total == std::chrono::seconds(90));
  CHECK(cells[0].injections.empty());
  CHECK(cells[1].injections.at(1).tensor == "fc1.weight");
  CHECK_FALSE(cells[1].request.inject);
}

TEST_CASE("a cell that one rule requires anyway does not depend on what this host has", "[plan]") {
  const auto depends = [](const std::string& rules) {
    const auto cells = expand_test("axes: {stack: [a], device: [cpu, sm_90]}\nrequired: " + rules + "\n");
    CHECK(cells[0].required);
    CHECK(cells[1].required);
    return std::pair(cells[0].required_if_present, cells[1].required_if_present);
  };
  CHECK(depends("[{device: present}]") == std::pair(true, true));
  CHECK(depends("[{device: present}, {device: cpu}]") == std::pair(false, true));
  CHECK(depends("[{device: cpu}, {device: present}]") == std::pair(false, true));
  CHECK(depends("[{stack: a}]") == std::pair(false, false));
}

TEST_CASE("ids depend on what a cell is and not on where it stands", "[plan]") {
  const auto two = expand_test("axes: {stack: [a, b]}\n");
  const auto reversed = expand_test("repeat: 5\ntimeout: 1m\naxes: {stack: [b, a]}\n");
  CHECK(two[0].request.cell_id == reversed[1].request.cell_id);
  CHECK(two[1].request.cell_id == reversed[0].request.cell_id);
  CHECK(two[0].request.cell_id != two[1].request.cell_id);
  CHECK(two[0].request.cell_id.size() == 12);
}

TEST_CASE("knobs at their defaults are no part of a cell's identity, chosen ones are", "[plan]") {
  CellRequest request;
  request.stack = "a";
  const std::string bare = cell_id_of(request);
  request.knobs = with_defaults({});
  CHECK(cell_id_of(request) == bare);
  request.knobs["threads"] = "2";
  CHECK(cell_id_of(request) != bare);
}

TEST_CASE("a cell's identity is what a file of the user's holds, and not where it lies", "[plan]") {
  CellRequest request;
  request.stack = "a";
  request.workload = {"llama", "tiny", 20, 4};
  const std::string bare = cell_id_of(request);
  request.workload.data_sha256 = std::string(64, 'a');
  request.workload.data_file = "/here/my.json";
  const std::string with_data = cell_id_of(request);
  CHECK(with_data != bare);
  request.workload.data_file = "/there/other.json";
  CHECK(cell_id_of(request) == with_data);
  CHECK(canonical_text(request).find("other.json") == std::string::npos);
  request.workload.data_sha256.back() = 'b';
  CHECK(cell_id_of(request) != with_data);
}

TEST_CASE("how far a suite's training gets is only recorded of other data, unless the matrix says so itself",
          "[plan]") {
  const auto gates = [](const std::string& thresholds, const char* data) {
    MatrixSpec matrix = parse_test_matrix("axes: {stack: [a]}\n" + thresholds);
    matrix.data = data;
    matrix.data_mark = {"--data", 0, 0};
    Suites suites = smoke_suite(
        "thresholds:\n  numerics.end_loss: {max: 3}\n  numerics.loss_fall_rel: {min: 30%}\n"
        "  numerics.final_loss: {max: 9}\n");
    suites.at("smoke").workloads.front().data_sha256 = std::string(64, 'a');
    const auto cells = expand(matrix, suites);
    std::string text;
    for (const CellThreshold& threshold : cells.front().cell.thresholds) {
      text += threshold.gate == Gate::armed ? "armed " : "recorded by " + to_string(threshold.gate_mark) + " ";
    }
    return text;
  };
  CHECK(gates("", "") == "armed armed armed ");  // the suite's own data
  CHECK(gates("", "my.json") == "recorded by --data recorded by --data armed ");
  CHECK(gates("thresholds: {numerics.end_loss: {max: 2}}\n", "my.json") == "armed recorded by --data armed ");
}

TEST_CASE("workloads that differ in their data alone are told apart by name", "[plan]") {
  SuiteSpec suite;
  suite.name = "llm";
  suite.workloads.assign(3, {"llama", "tiny", 20, 4});
  suite.workloads[1].data_sha256 = std::string(64, 'a');
  suite.workloads[2].data_sha256 = std::string(64, 'b');
  MatrixSpec matrix;
  matrix.suites = {"llm"};
  matrix.suite_marks.resize(1);
  const std::map<std::string, SuiteSpec> suites = {{"llm", suite}};
  const auto sources = suite_workloads(matrix, suites);
  REQUIRE(sources.size() == 3);
  CHECK(sources[0].name == "llama.tiny.s20b4");
  CHECK(sources[1].name == "llama.tiny.s20b4.data-aaaaaaaa");
  CHECK(sources[2].name == "llama.tiny.s20b4.data-bbbbbbbb");
}

TEST_CASE("no spreadsheet takes a cell id for a number", "[plan]") {
  CellRequest request;
  request.stack = "a";
  int numbers = 0;
  std::set<std::string> ids;
  for (int seed = 0; seed < 4000; ++seed) {
    request.knobs["seed"] = std::to_string(seed);
    const std::string id = cell_id_of(request);
    const auto other = id.find_first_not_of("0123456789");
    const bool is_power = other != std::string::npos && other > 0 && other + 1 < id.size() && id[other] == 'e' &&
                          id.find_first_not_of("0123456789", other + 1) == std::string::npos;
    numbers += other == std::string::npos || is_power ? 1 : 0;
    CHECK(id.size() == 12);
    ids.insert(id);
  }
  CHECK(numbers == 0);  // of 4000 about 30 would be
  CHECK(ids.size() == 4000);
}

TEST_CASE("an id is where its digest begins, unless that is a number", "[plan]") {
  CellRequest request;
  request.stack = "a";
  const auto is_digits = [](std::string_view text) {
    return text.find_first_not_of("0123456789") == std::string_view::npos;
  };
  int numbers = 0;
  int begin_with_e = 0;
  int end_with_e = 0;
  for (int seed = 2; seed < 8000; ++seed) {
    request.knobs["seed"] = std::to_string(seed);
    const std::string digest = sha256_of_text(canonical_request(request).dump());
    const std::string first = digest.substr(0, 12);
    const std::size_t e = first.find('e');
    const bool is_power = e != std::string::npos && is_digits(first.substr(0, e)) && is_digits(first.substr(e + 1));
    begin_with_e += is_power && e == 0;  // no number without what it is a power of, or to
    end_with_e += is_power && e == 11;
    const bool is_number = is_digits(first) || (is_power && e > 0 && e < 11);
    numbers += is_number;
    REQUIRE((cell_id_of(request) == first) == !is_number);
    REQUIRE(digest.find(cell_id_of(request)) != std::string::npos);
  }
  CHECK(numbers > 0);
  CHECK(begin_with_e > 0);
  CHECK(end_with_e > 0);
}

TEST_CASE("the text of a request is the canonical request's dump, with every knob", "[plan]") {
  for (const Cell& cell :
       expand_test("axes: {stack: [a], device: [cpu, sm_90], precision: [fp32, bf16], threads: [1, 4]}\n")) {
    CellRequest whole = cell.request;
    whole.knobs = with_defaults(whole.knobs);
    CHECK(canonical_text(cell.request) == canonical_request(whole).dump());
  }
  CellRequest odd;
  odd.stack = "quote \" backslash \\ tab \t e-acute \xC3\xA9";
  odd.knobs = with_defaults({{"a\n", "b"}});
  odd.trace = TraceLevel::tensor;
  CHECK(canonical_text(odd) == canonical_request(odd).dump());
}

TEST_CASE("a selection may name a knob that is no axis", "[plan]") {
  CHECK(error_of("axes: {stack: [a]}\nrequired: [{where: \"threads == 1\"}]\n").empty());
  CHECK(error_of("axes: {stack: [a]}\nrequired: [{where: \"threads == 2\"}]\n") ==
        "m.yaml:5:12: error[RB024]: no cell has threads `2`, which this rule names; did you mean `1`?");
}

TEST_CASE("a cell with an armed bound on a time gets the machine to itself, and so does its reference", "[plan]") {
  const auto exclusive = [](const char* rule) {
    std::string text;
    for (const Cell& cell : expand_test(fmt::format("axes: {{stack: [a, b, c]}}\nreference: {{stack: b}}\n{}", rule))) {
      text += cell.exclusive ? cell.request.stack : "";
    }
    return text;
  };
  CHECK(exclusive("").empty());
  CHECK(exclusive("thresholds: {throughput.step_time: {max_regression: 10%, vs: reference}}\n") == "abc");
  CHECK(exclusive("thresholds: {throughput.step_time: {max: 1s, where: {stack: [a, b]}}}\n") == "ab");
  CHECK(exclusive("thresholds: {throughput.step_time: {max_regression: 10%, vs: reference, where: {stack: c}}}\n") ==
        "bc");
  CHECK(exclusive("thresholds: {throughput.step_time: {max: 1s, gate: record_only}}\n").empty());
  CHECK(exclusive("thresholds: {memory.peak_rss: {max: 1GiB}}\n").empty());
}

TEST_CASE("a bound of the matrix that allows more than the suite's says which", "[plan]") {
  const auto loosens = [](const std::string& stated, const std::string& bound) {
    const auto suite = smoke_suite(fmt::format("thresholds:\n  {}\n", stated));
    const auto cells = expand_test(
        fmt::format("axes: {{stack: [a, b]}}\nreference: {{stack: b}}\nthresholds: {{{}}}\n", bound), suite);
    return cells.at(0).thresholds.items().front().loosens;
  };
  const std::string memory = "memory.peak_anonymous: {max_regression: 10%, vs: reference}";
  CHECK(loosens(memory, "memory.peak_anonymous: {max_regression: 1000%, vs: reference}") ==
        "max_regression: 10% (smoke.yaml:5:26)");
  CHECK(loosens(memory, "memory.peak_anonymous: {max_regression: 10%, vs: reference}").empty());
  CHECK(loosens(memory, "memory.peak_anonymous: {max_regression: 5%, vs: reference}").empty());
  CHECK(loosens(memory, "memory.peak_rss: {max: 9GiB}").empty());
  const std::string samples = "throughput.samples: {min: 5}";
  CHECK_FALSE(loosens(samples, "throughput.samples: {min: 4}").empty());
  CHECK(loosens(samples, "throughput.samples: {min: 6}").empty());
  const std::string band = "numerics.final_loss: {band: [1, 2]}";
  CHECK_FALSE(loosens(band, "numerics.final_loss: {band: [1, 3]}").empty());
  CHECK_FALSE(loosens(band, "numerics.final_loss: {band: [0.5, 2]}").empty());
  CHECK(loosens(band, "numerics.final_loss: {band: [1.5, 2]}").empty());
  CHECK(loosens("memory.peak_rss: {max: 1GiB, gate: record_only}", "memory.peak_rss: {max: 2GiB}").empty());
}

TEST_CASE("a training that is stopped and resumed is compared with one that was not, also where no rule asks",
          "[plan]") {
  const auto asked = [](const std::string& thresholds, const std::string& of_matrix = "") {
    const SuiteSpec suite = parse_suite(
        "schema: 1\nname: smoke\nworkloads:\n"
        "  - {model: mlp, preset: default, steps: 12, batch_size: 32, resume_after: 5}\n" +
            thresholds,
        "smoke.yaml", test_vocabulary());
    const auto cells = expand_test("axes: {stack: [a]}\n" + of_matrix, {{"smoke", suite}});
    const CellThreshold* threshold = find_threshold(cells.at(0), "numerics.resume_mismatches");
    return threshold == nullptr
               ? ""
               : fmt::format("{} {} by {}", to_string(threshold->gate), threshold->bound.text, threshold->mark.file);
  };
  CHECK(asked("") == "armed max: 0 by smoke.yaml");
  CHECK(asked("thresholds: {numerics.final_loss: {max: 5}}\n") == "armed max: 0 by smoke.yaml");
  CHECK(asked("thresholds: {numerics.resume_mismatches: {max: 0, where: {precision: bf16}}}\n") ==
        "armed max: 0 by smoke.yaml");
  CHECK(asked("thresholds: {numerics.resume_mismatches: {max: 3}}\n") == "armed max: 3 by smoke.yaml");
  const std::string disarmed = "thresholds: {numerics.resume_mismatches: {gate: record_only}}\n";
  CHECK(asked("", disarmed) == "record_only max: 0 by smoke.yaml");
  CHECK(find_threshold(expand_test("axes: {stack: [a]}\n").at(0), "numerics.resume_mismatches") == nullptr);
}

TEST_CASE("a fault of a rank needs that rank where it happens: before the stop, or in those that resume", "[plan]") {
  SuiteSpec suite = parse_suite(
      "schema: 1\nname: smoke\nworld_size: 2\nworkloads:\n"
      "  - {model: mlp, preset: default, steps: 12, batch_size: 32, resume_after: 5, resume_world_size: 1}\n",
      "smoke.yaml", test_vocabulary());
  const auto happens = [&](int rank) {
    const std::string rule = fmt::format("inject: [{{repeat: 0, step: 3, kind: skip_update, rank: {}}}]\n", rank);
    try {
      return !expand_test("axes: {stack: [a]}\n" + rule, {{"smoke", suite}}).at(0).injections.empty();
    } catch (const SpecError&) {
      return false;
    }
  };
  CHECK(happens(0));
  CHECK(happens(1));
  CHECK_FALSE(happens(2));
}

TEST_CASE("a matrix over the cap states the product and runs out of nothing", "[plan]") {
  std::string axes = "axes:\n";
  std::string values;
  for (int i = 1; i <= 100; ++i) values += (i > 1 ? ", " : "") + std::to_string(i);
  axes += "  stack: [a, b, c, d, e, f, g, h, i, j]\n";
  for (const char* name : {"world_size", "threads", "seed"}) axes += std::string("  ") + name + ": [" + values + "]\n";
  axes += "  precision: [fp32, bf16]\n";
  CHECK(error_of(axes) ==
        "m.yaml:4:1: error[RB017]: matrix expands to 20000000 cells (10x100x100x100x2); limit 100000");
}

TEST_CASE("rules that select nothing, doubled cells and unknown names are errors", "[plan]") {
  CHECK(error_of("axes: {stack: [a]}\nexclude: [{where: {stack: b}}]\n") ==
        "m.yaml:5:11: error[RB024]: no cell has stack `b`, which this rule names; did you mean `a`?");
  CHECK(error_of("axes: {stack: [a, b], seed: [1, 2]}\ninclude: [{stack: c, device: cpu, seed: 3}]\n"
                 "exclude: [{where: \"stack == c and seed == 1\"}]\n") ==
        "m.yaml:6:11: error[RB024]: exclude rule matches no cell");
  CHECK(error_of("axes: {stack: [a], seed: [1]}\ninclude: [{stack: b, device: cpu, seed: 2}]\nthresholds:\n"
                 "  memory.peak_rss: {max: 1GiB, where: {stack: b, seed: 1}}\n") ==
        "m.yaml:7:20: error[RB040]: rule selects no cell");
  CHECK(error_of("axes: {stack: [a]}\nthresholds:\n  memory.peak_rss: {gate: record_only}\n") ==
        "m.yaml:6:20: error[RB040]: rule selects no cell");
  CHECK(error_of("axes: {stack: [a]}\nthresholds:\n  memory.*: {gate: record_only}\n") ==
        "m.yaml:6:13: error[RB040]: rule selects no cell");
  const std::string doubled = error_of("axes: {stack: [a]}\ninclude: [{stack: a, device: cpu}]\n");
  CHECK(doubled.find("m.yaml:5:11: error[RB025]: two cells have the id ") == 0);
  CHECK(error_of("axes: {stack: [a]}\ninclude: [{suite: other, stack: a, device: cpu}]\n") ==
        "m.yaml:5:11: error[RB024]: include names a suite or workload this matrix does not run");
  CHECK(error_of("axes: {stack: [a]}\ninject: [{repeat: 1, kind: weight_ulp, step: 20, tensor: w}]\n") ==
        "m.yaml:5:10: error[RB040]: rule selects no cell");
  // Of a process, a step and a rank that no cell has, and of a probe's where a model trains.
  for (const char* fault :
       {"{kind: weight_ulp, step: 21, tensor: w}", "{kind: weight_ulp, step: 20, tensor: w, rank: 1}",
        "{kind: result_wrong, step: 1, tensor: all_reduce}"}) {
    CAPTURE(fault);
    CHECK(error_of("axes: {stack: [a]}\ninject: [" + std::string(fault) + "]\n") ==
          "m.yaml:5:10: error[RB040]: rule selects no cell");
  }
  CHECK(error_of("axes: {stack: [a]}\n", {{"smoky", parse_test_suite("smoky")}}) ==
        "m.yaml:3:10: error[RB009]: unknown suite `smoke`; did you mean `smoky`?");
}

TEST_CASE("an exclude that leaves no cell of a suite is an error, unless an include brings one back", "[plan]") {
  const Suites suites = {{"smoke", parse_test_suite("smoke")}, {"more", parse_test_suite("more")}};
  const auto error = [&](const std::string& body) {
    return spec_error_of([&] {
      expand(parse_matrix("schema: 1\nname: m\nsuites: [smoke, more]\naxes: {stack: [a, b]}\n" + body, "m.yaml",
                          test_vocabulary()),
             suites);
    });
  };
  CHECK(error("exclude: [{suite: more, stack: a}]\n").empty());
  const char* none =
      "m.yaml:3:17: error[RB024]: `exclude` leaves no cell of suite `more`; take it off `suites`, or leave it a cell";
  CHECK(error("exclude: [{suite: more}]\n") == none);
  CHECK(error("exclude: [{suite: more, stack: a}, {stack: b}]\n") == none);
  CHECK(error("exclude: [{suite: more}]\ninclude: [{suite: more, stack: c, device: cpu}]\n").empty());
}

TEST_CASE("a matrix's bound of another kind than the suite's is an error where it lets go of a side", "[plan]") {
  const auto error = [&](const std::string& of_suite, const std::string& of_matrix) {
    return error_of("axes: {stack: [a, b]}\nreference: {stack: b}\nthresholds:\n  " + of_matrix + "\n",
                    smoke_suite("thresholds:\n  " + of_suite + "\n"));
  };
  CHECK(error("numerics.final_loss: {band: [1, 9]}", "numerics.final_loss: {max: 8}") ==
        "m.yaml:7:24: error[RB039]: `max: 8` takes the place of `band: [1, 9]` at smoke.yaml:5:24, which nothing then "
        "holds; bound both sides by a `band`, or keep the kind of bound");
  const std::string regression = "throughput.step_time: {max_regression: 5%, vs: reference}";
  CHECK_THAT(error(regression, "throughput.step_time: {max: 5s}"), Catch::Contains("RB039"));
  CHECK_THAT(error("throughput.step_time: {max: 5s}", regression), Catch::Contains("RB039"));
  CHECK_THAT(error(regression, "throughput.step_time: {band: [1s, 5s]}"), Catch::Contains("RB039"));
  CHECK(error("numerics.final_loss: {max: 9}", "numerics.final_loss: {max: 8}").empty());
  CHECK(error("numerics.final_loss: {max: 9}", "numerics.final_loss: {band: [1, 8]}").empty());
  CHECK(error("numerics.alike_seeds: {max: 9}", "numerics.alike_seeds: {equal: 0}").empty());
  CHECK(error("numerics.final_loss: {band: [1, 9], gate: record_only}", "numerics.final_loss: {max: 8}").empty());
  CHECK(error("numerics.final_loss: {band: [1, 9]}", "numerics.end_loss: {max: 8}").empty());
  CHECK(error("numerics.final_loss: {band: [1, 9], where: {stack: a}}",
              "numerics.final_loss: {max: 8, where: {stack: b}}")
            .empty());
}

TEST_CASE("an armed bound of a suite against a reference the matrix does not name is an error, once", "[plan]") {
  const auto suite = smoke_suite("thresholds:\n  throughput.step_time: {max_regression: 5%, vs: reference}\n");
  CHECK(
      error_of("axes: {stack: [a, b, c]}\n", suite) ==
      "smoke.yaml:5:25: error[RB035]: `max_regression: 5%` of `throughput.step_time` needs a reference, and matrix `m` "
      "names none; add `reference: {stack: NAME}`");
  CHECK(error_of("axes: {stack: [a, b, c]}\nthresholds: {throughput.step_time: {gate: record_only}}\n", suite).empty());
}

TEST_CASE("a reference set after the file was read is checked too", "[plan]") {
  MatrixSpec matrix = parse_test_matrix("axes: {stack: [aa, bb]}\n");
  matrix.reference["stack"] = "ab";
  matrix.reference_mark = {"--reference", 1, 1};
  CHECK_THROWS_WITH(expand(matrix, smoke_suite()),
                    "--reference:1:1: error[RB024]: reference `ab` is no value of axis `stack`; did you mean `aa`?");
}

TEST_CASE("a matrix of many cells holds once what they have alike", "[plan]") {
  const auto cells = expand_test(
      "axes: {stack: [a, b], precision: [fp32, bf16], seed: [1, 2, 3]}\nreference: {stack: b}\n"
      "thresholds: {memory.peak_rss: {max: 1GiB, where: {precision: fp32}}}\n",
      smoke_suite("thresholds:\n  throughput.step_time: {max_regression: 5%, vs: reference}\n"));
  REQUIRE(cells.size() == 12);
  CHECK(cells[5].request.knobs == KnobValues{{"precision", "bf16"}, {"seed", "3"}});
  std::set<const std::vector<CellThreshold>*> lists;
  for (const Cell& cell : cells) {
    // Of the candidate also what its differing numbers are.
    CHECK(cell.thresholds.size() ==
          (cell.request.stack == "a" ? 2u : 0u) + (knob_of(cell, "precision") == "fp32" ? 1u : 0u));
    lists.insert(&cell.thresholds.items());
  }
  CHECK(lists.size() == 4);
}

TEST_CASE("an included cell has the default of an axis it does not name, and says so", "[plan]") {
  const auto cells = expand_test("axes: {stack: [a], precision: [bf16]}\ninclude: [{stack: b, device: cpu}]\n");
  REQUIRE(cells.size() == 2);
  CHECK(cells[1].slug == "smoke-mlp-b-cpu-fp32");
  CHECK(cells[1].coordinates.at("precision") == "fp32");
}

TEST_CASE("whoever names another stack as the reference asks what its differing numbers are", "[plan]") {
  const std::string stacks = "axes: {stack: [a, b]}\nreference: {stack: b}\n";
  const auto asked_in = [](const std::vector<Cell>& cells) {
    return find_threshold(cells.at(0), "numerics.beyond_rounding");
  };
  const auto cells = expand_test(stacks);
  REQUIRE(asked_in(cells) != nullptr);
  CHECK(asked_in(cells)->gate == Gate::armed);
  CHECK(asked_in(cells)->bound.text == "max: 0");
  CHECK(to_string(asked_in(cells)->mark) == "m.yaml:5:1");
  CHECK(find_threshold(cells.at(1), "numerics.beyond_rounding") == nullptr);  // the reference itself

  SECTION("a matrix can disarm it") {
    const auto disarmed = expand_test(stacks + "thresholds: {numerics.beyond_rounding: {gate: record_only}}\n");
    CHECK(asked_in(disarmed)->gate == Gate::record_only);
  }
  SECTION("a rule that lets no bit differ takes its place, one that lets some or only records does not") {
    const auto with = [&](const char* rule) {
      return asked_in(expand_test(stacks, smoke_suite(fmt::format("thresholds:\n  {}\n", rule)))) != nullptr;
    };
    CHECK_FALSE(with("numerics.reference_mismatches: {max: 0, vs: reference}"));
    CHECK(with("throughput.step_time: {max_regression: 5%, vs: reference}"));
    CHECK(with("numerics.repeat_mismatches: {max: 0}"));
    CHECK(with("numerics.reference_mismatches: {max: 0, vs: reference, gate: record_only}"));
    CHECK(with("numerics.reference_mismatches: {max: 1000, vs: reference}"));
    CHECK(with("numerics.reference_mismatches: {band: [0, 1], vs: reference}"));
    CHECK(with("numerics.loss_rel: {max: 1e-3, vs: reference}"));
  }
  SECTION("a matrix that disarms the rule which lets no bit differ asks what differs") {
    const auto strict = smoke_suite("thresholds:\n  numerics.reference_mismatches: {max: 0, vs: reference}\n");
    const auto with = [&](const char* rule) {
      return asked_in(expand_test(fmt::format("{}thresholds:\n  {}\n", stacks, rule), strict));
    };
    CHECK(with("numerics.final_loss: {max: 9}") == nullptr);
    for (const char* rule : {"numerics.reference_mismatches: {gate: record_only}",
                             "numerics.reference_mismatches: {max: 3, vs: reference}"}) {
      REQUIRE(with(rule) != nullptr);
      CHECK(with(rule)->gate == Gate::armed);
    }
    CHECK(with("numerics.reference_mismatches: {gate: record_only}\n  numerics.beyond_rounding: {gate: record_only}")
              ->gate == Gate::record_only);
  }
  SECTION("where the reference has other settings, too, numbers may differ") {
    const std::string axes = "axes: {stack: [a, b], precision: [fp32, bf16]}\n";
    const auto of_both = expand_test(axes + "reference: {stack: b, precision: fp32}\n");
    CHECK(find_threshold(of_both.at(0), "numerics.beyond_rounding") != nullptr);  // a, fp32
    CHECK(find_threshold(of_both.at(1), "numerics.beyond_rounding") == nullptr);  // a, bf16
    CHECK(asked_in(expand_test(axes + "reference: {precision: bf16}\n")) == nullptr);
    // More threads round otherwise, and no more than that.
    const auto of_threads = expand_test("axes: {stack: [a, b], threads: [1, 2]}\nreference: {stack: b, threads: 1}\n");
    CHECK(find_threshold(of_threads.at(1), "numerics.beyond_rounding") != nullptr);  // a, 2
    CHECK(find_threshold(of_threads.at(3), "numerics.beyond_rounding") == nullptr);  // b, 2
  }
}
