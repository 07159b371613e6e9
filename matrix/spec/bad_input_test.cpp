// The bad-input catalogue: every row as a file, and the exact text a user reads.
#include <filesystem>
#include <fstream>

#include <fmt/format.h>

#include "ci/catch.hpp"
#include "ci/temporary.hpp"
#include "matrix/spec/spec_fixture.hpp"
#include "matrix/spec/yaml_reader.hpp"

using namespace reprobench;

namespace {

struct Row {
  const char* name;
  std::string text;
  std::string error;
};

std::string matrix_with(const std::string& lines) { return kGoodMatrix + lines; }
std::string suite_with(const std::string& lines) { return kGoodSuite + lines; }

// Axes in place of the good matrix's.
std::string matrix_with_axes(const std::string& axes) { return "schema: 1\nname: m\nsuites: [smoke]\naxes:\n" + axes; }

const std::string kNeeds = "`timeout` must be a duration such as 90s or 10m, got ";

const std::vector<Row>& file_rows() {
  static const std::vector<Row> kRows = {
      {"B01 nothing", "", "m.yaml:1:1: error[RB001]: file has no content; a matrix needs `axes:`"},
      {"B01 comments", "# only\n# comments\n", "m.yaml:1:1: error[RB001]: file has no content; a matrix needs `axes:`"},
      {"B01 a document start", "---\n", "m.yaml:1:1: error[RB001]: file has no content; a matrix needs `axes:`"},
      {"B02 Latin-1", "name: caf\xE9\n",
       "m.yaml:1:10: error[RB002]: not UTF-8 at byte offset 9; save the file as UTF-8"},
      {"B02 overlong slash", "name: \xC0\xAF\n",
       "m.yaml:1:7: error[RB002]: not UTF-8 at byte offset 6; save the file as UTF-8"},
      {"B02 surrogate", "name: \xED\xA0\x80\n",
       "m.yaml:1:7: error[RB002]: not UTF-8 at byte offset 6; save the file as UTF-8"},
      {"B02 UTF-16 with mark", std::string("\xFF\xFEn\0a\0", 6),
       "m.yaml:1:1: error[RB002]: the file is UTF-16; save the file as UTF-8"},
      {"B02 UTF-16 without mark", std::string("n\0a\0", 4),
       "m.yaml:1:1: error[RB002]: the file is UTF-16; save the file as UTF-8"},
      {"B03 NUL", std::string("schema: 1\nname: a\0b\n", 20),
       "m.yaml:2:8: error[RB003]: control character U+0000 is not accepted"},
      {"B03 escape", "name: \x1B[31m\n", "m.yaml:1:7: error[RB003]: control character U+001B is not accepted"},
      {"B03 next line", "name: a\xC2\x85\n", "m.yaml:1:8: error[RB003]: control character U+0085 is not accepted"},
      {"B04 tab", "axes:\n\tstack: [a]\n", "m.yaml:2:1: error[RB004]: a tab indents this line; use spaces"},
      {"B05 open quote", matrix_with("timeout: \"1m\n"),
       "m.yaml:8:10: error[RB005]: not valid YAML: a quote is not closed"},
      {"B05 open quote at the very end", "name: 'm", "m.yaml:1:9: error[RB005]: not valid YAML: a quote is not closed"},
      {"B05 open list", "suites: [smoke\n", "m.yaml:2:1: error[RB005]: not valid YAML: `[` is not closed"},
      {"B05 open map", "axes: {stack: [a]\n", "m.yaml:2:1: error[RB005]: not valid YAML: `{` is not closed"},
      {"B06", matrix_with("---\nname: other\n"),
       "m.yaml:8:1: error[RB006]: a second document starts here; one file holds one document"},
      {"B07 a list", "- a\n- b\n", "m.yaml:1:1: error[RB007]: the file must be a map of keys, got a list"},
      {"B07 a word", "matrix\n", "m.yaml:1:1: error[RB007]: the file must be a map of keys, got `matrix`"},
      {"B08", matrix_with_axes("  stack: [a]\n  device: [cpu]\n  stack: [b]\n"),
       "m.yaml:7:3: error[RB008]: key `stack` appears twice; first at 5:3"},
      {"B09", matrix_with("timout: 10m\n"), "m.yaml:8:1: error[RB009]: unknown key `timout`; did you mean `timeout`?"},
      {"B09 nothing near", matrix_with("zebra: 1\n"), "m.yaml:8:1: error[RB009]: unknown key `zebra`"},
      {"B10 anchor", matrix_with("repeat: &r 3\n"),
       "m.yaml:8:9: error[RB010]: anchors and aliases are not accepted; use `defaults:`"},
      {"B11 alias bomb", "a: &a [x]\nb: &b [*a, *a]\nc: [*b, *b]\n", ""},
      {"B12 cyclic alias", matrix_with("zip: &z [*z]\n"),
       "m.yaml:8:6: error[RB010]: anchors and aliases are not accepted; use `defaults:`\n"
       "m.yaml:8:10: error[RB010]: anchors and aliases are not accepted; use `defaults:`"},
      {"B12 alias of nothing", matrix_with("repeat: *nowhere\n"),
       "m.yaml:8:9: error[RB010]: anchors and aliases are not accepted; use `defaults:`"},
      {"B13", matrix_with("<<: {repeat: 3}\n"),
       "m.yaml:8:1: error[RB010]: merge keys are not accepted; use `defaults:`"},
      {"B14", matrix_with("repeat: !!python/object 3\n"),
       "m.yaml:8:9: error[RB014]: tag `tag:yaml.org,2002:python/object` is not accepted; values are typed by where "
       "they stand"},
      {"B15", "axes: " + std::string(10'000, '[') + std::string(10'000, ']'),
       "m.yaml:1:38: error[RB015]: nesting deeper than 32"},
      {"B16 file", std::string(5u << 20, ' '), "m.yaml:1:1: error[RB016]: file is larger than 1048576 bytes"},
      {"B16 scalar", matrix_with("timeout: " + std::string(70'000, 'a') + "\n"),
       "m.yaml:8:10: error[RB016]: value of 70000 bytes; limit 65536"},
  };
  return kRows;
}

const std::vector<Row>& value_rows() {
  static const std::vector<Row> kRows = {
      {"B18", "schema: 1\nname: m\naxes: {stack: [a]}\n", "m.yaml:1:1: error[RB018]: required key `suites` is missing"},
      {"B18 schema", "name: m\nsuites: [smoke]\naxes: {stack: [a]}\n",
       "m.yaml:1:1: error[RB018]: required key `schema` is missing"},
      {"B18 nested", matrix_with("inject: [{kind: weight_ulp, step: 3}]\n"),
       "m.yaml:8:10: error[RB018]: required key `tensor` is missing"},
      {"B19 quoted number", matrix_with("timeout: \"10\"\n"), "m.yaml:8:10: error[RB019]: " + kNeeds + "string \"10\""},
      {"B19 list", matrix_with("timeout: [10m]\n"), "m.yaml:8:10: error[RB019]: " + kNeeds + "a list"},
      {"B19 nothing", matrix_with("timeout:\nrepeat: 3\n"), "m.yaml:8:1: error[RB019]: " + kNeeds + "nothing"},
      {"B19 underscore", matrix_with("repeat: 1_0\n"),
       "m.yaml:8:9: error[RB019]: `repeat` must be a whole number, got `1_0`"},
      {"B19 hexadecimal", matrix_with("repeat: 0x10\n"),
       "m.yaml:8:9: error[RB019]: `repeat` must be a whole number, got `0x10`"},
      {"B19 octal", matrix_with("repeat: 010\n"),
       "m.yaml:8:9: error[RB019]: `repeat` must be a whole number, got `010`"},
      {"B19 exponent", matrix_with("repeat: 1e400\n"),
       "m.yaml:8:9: error[RB019]: `repeat` must be a whole number, got `1e400`"},
      {"B19 nan", matrix_with("repeat: .nan\n"),
       "m.yaml:8:9: error[RB019]: `repeat` must be a whole number, got `.nan`"},
      {"B19 minus zero", matrix_with("repeat: -0\n"),
       "m.yaml:8:9: error[RB019]: `repeat` must be a whole number, got `-0`"},
      {"B19 schema", "schema: 2\nname: m\nsuites: [smoke]\naxes: {stack: [a]}\n",
       "m.yaml:1:9: error[RB019]: `schema` must be 1, got `2`"},
      {"B20 no unit", matrix_with("timeout: 10\n"),
       "m.yaml:8:10: error[RB020]: `timeout` has no unit: `10`; write 90s or 10m; units are ns, us, ms, s, m, h"},
      {"B20 unknown unit", matrix_with("timeout: 10min\n"),
       "m.yaml:8:10: error[RB020]: `timeout` has the unknown unit min: `10min`; write 90s or 10m; units are ns, us, "
       "ms, "
       "s, m, h"},
      {"B21 negative", matrix_with("timeout: -5s\n"),
       "m.yaml:8:10: error[RB021]: `timeout` must be more than zero, got `-5s`"},
      {"B21 zero", matrix_with("timeout: 0s\n"),
       "m.yaml:8:10: error[RB021]: `timeout` must be more than zero, got `0s`"},
      {"B21 overflow", matrix_with("timeout: 99999999999999999999h\n"),
       "m.yaml:8:10: error[RB021]: `timeout` must be at most 168h, got `99999999999999999999h`"},
      {"B21 below a millisecond", matrix_with("timeout: 10us\n"),
       "m.yaml:8:10: error[RB021]: `timeout` must be a whole number of milliseconds, got `10us`"},
      {"B21 repeat 0", matrix_with("repeat: 0\n"),
       "m.yaml:8:9: error[RB021]: `repeat` must be from 1 to 1000, got `0`"},
      {"B21 grace", matrix_with("limits: {total: 10m, grace: 20m}\n"),
       "m.yaml:8:29: error[RB021]: `grace` 20m is longer than the timeout 10m"},
      {"B21 grace of the default", matrix_with("limits: {grace: 601s}\n"),
       "m.yaml:8:17: error[RB021]: `grace` 601s is longer than the timeout 10m (the default)"},
      {"B21 grace of timeout", matrix_with("timeout: 5s\nlimits: {grace: 6s}\n"),
       "m.yaml:9:17: error[RB021]: `grace` 6s is longer than the timeout 5s"},
      {"B21 grace as long", matrix_with("limits: {total: 10s, grace: 10s}\n"), ""},
      {"B39 total", matrix_with("timeout: 5m\nlimits: {total: 10m}\n"),
       "m.yaml:9:17: error[RB039]: `total` and `timeout` are the same limit; one of them is enough"},
      {"B26 suite", "schema: 1\nname: m\nsuites: [.., .., smoke]\naxes: {stack: [a]}\n",
       "m.yaml:3:10: error[RB026]: name \"..\" must match [A-Za-z0-9._-]{1,64} and not be . or ..\n"
       "m.yaml:3:14: error[RB026]: name \"..\" must match [A-Za-z0-9._-]{1,64} and not be . or .."},
      {"B23 no suite", "schema: 1\nname: m\nsuites: []\naxes: {stack: [a]}\n",
       "m.yaml:3:9: error[RB023]: `suites` lists no suite"},
      {"B18 reference", matrix_with_axes("  stack: [a]\n  device: [cpu]\nreference: {}\n"),
       "m.yaml:7:12: error[RB018]: `reference` names no axis"},
      {"B18 include", matrix_with("include: [{device: cpu}]\n"),
       "m.yaml:8:11: error[RB018]: required key `stack` is missing"},
      {"B21 positive knob", matrix_with("defaults: {threads: 0}\n"),
       "m.yaml:8:21: error[RB021]: `threads` must be from 1 to 999999999, got `0`"},
      {"B21 knob from zero", matrix_with("defaults: {loader_threads: -1}\n"),
       "m.yaml:8:28: error[RB021]: `loader_threads` must be from 0 to 999999999, got `-1`"},
      {"B21 knob of zero", matrix_with("defaults: {loader_threads: 0}\n"), ""},
      {"B18 selection", matrix_with("required: [{}]\n"), "m.yaml:8:12: error[RB018]: a selection names no coordinate"},
      {"B23 selection", matrix_with("required: [{device: []}]\n"),
       "m.yaml:8:21: error[RB023]: `device` lists no value"},
      {"B09 selection", matrix_with("required: [{devise: cpu}]\n"),
       "m.yaml:8:13: error[RB009]: unknown coordinate `devise`; did you mean `device`?"},
      {"B23 no values", matrix_with_axes("  stack: []\n"), "m.yaml:5:10: error[RB023]: axis `stack` has no values"},
      {"B23 nothing", matrix_with_axes("  stack:\n"), "m.yaml:5:3: error[RB023]: axis `stack` has no values"},
      {"B23 twice", matrix_with_axes("  stack: [a, b, a]\n"),
       "m.yaml:5:17: error[RB023]: axis `stack` has the value `a` twice; first at 5:11"},
      {"B23 null", matrix_with_axes("  stack: [a, ~]\n"), "m.yaml:5:14: error[RB023]: axis `stack` has an empty value"},
      {"B23 suite twice", "schema: 1\nname: m\nsuites: [smoke, smoke]\naxes: {stack: [a]}\n",
       "m.yaml:3:17: error[RB023]: `suites` lists `smoke` twice; first at 3:10"},
      {"B19 zip", matrix_with("zip: stack\n"),
       "m.yaml:8:6: error[RB019]: `zip` must be a list such as [[stack, precision]], got `stack`"},
      {"B23 zip of one", matrix_with("zip: [[stack]]\n"),
       "m.yaml:8:7: error[RB023]: a zip group needs at least two axes"},
      {"B19 include", matrix_with("include: {stack: a, device: cpu}\n"),
       "m.yaml:8:10: error[RB019]: `include` must be a list such as [{stack: NAME, device: cpu}], got a map"},
      {"B18 include", matrix_with("include: [{stack: a}]\n"),
       "m.yaml:8:11: error[RB018]: required key `device` is missing"},
      {"B24 include", matrix_with("include: [{stak: a, stack: a, device: cpu}]\n"),
       "m.yaml:8:12: error[RB024]: include names the unknown axis `stak`; did you mean `stack`?"},
      {"B24 zip", matrix_with("zip: [[stack, device]]\n"),
       "m.yaml:8:7: error[RB024]: zipped axes differ in length: `stack` has 2 values, `device` has 1"},
      {"B24 zip twice", matrix_with("zip: [[stack, stack]]\n"),
       "m.yaml:8:7: error[RB024]: axis `stack` is zipped twice"},
      {"B24 zip of no axis", matrix_with("zip: [[stack, precision]]\n"),
       "m.yaml:8:7: error[RB024]: zip names `precision`, which is no axis of this matrix"},
      {"B24 reference", "schema: 1\nname: m\nsuites: [smoke]\naxes: {stack: [aa, bb]}\nreference: {stack: ab}\n",
       "m.yaml:5:20: error[RB024]: reference `ab` is no value of axis `stack`; did you mean `aa`?"},
      {"B26 path", matrix_with_axes("  stack: [../x]\n"),
       "m.yaml:5:11: error[RB026]: name \"../x\" must match [A-Za-z0-9._-]{1,64} and not be . or .."},
      {"B26 parent", matrix_with_axes("  stack: [..]\n"),
       "m.yaml:5:11: error[RB026]: name \"..\" must match [A-Za-z0-9._-]{1,64} and not be . or .."},
      {"B26 dash", matrix_with_axes("  stack: [-rf]\n"),
       "m.yaml:5:11: error[RB026]: name \"-rf\" must not start with a dash"},
      {"B26 newline", matrix_with_axes("  stack: [\"a\\nb\"]\n"),
       "m.yaml:5:11: error[RB026]: name \"a b\" must match [A-Za-z0-9._-]{1,64} and not be . or .."},
      {"B26 shell", matrix_with_axes("  stack: [\"a;reboot\"]\n"),
       "m.yaml:5:11: error[RB026]: name \"a;reboot\" must match [A-Za-z0-9._-]{1,64} and not be . or .."},
      {"B26 bidi",
       matrix_with_axes("  stack: [a\xE2\x80\xAE"
                        "b]\n"),
       "m.yaml:5:12: error[RB026]: bidirectional control character U+202E is not accepted"},
      {"B28", matrix_with("env: {LD_PRELOAD: x.so}\n"),
       "m.yaml:8:1: error[RB009]: unknown key `env`; settings of a cell are knobs\n"
       "m.yaml:8:7: error[RB028]: env LD_PRELOAD may not be set by a matrix"},
      {"B28 LD_LIBRARY_PATH", matrix_with("env: {LD_LIBRARY_PATH: x}\n"),
       "m.yaml:8:1: error[RB009]: unknown key `env`; settings of a cell are knobs\n"
       "m.yaml:8:7: error[RB028]: env LD_LIBRARY_PATH may not be set by a matrix"},
      {"B28 CUDA_VISIBLE_DEVICES", matrix_with("env: {CUDA_VISIBLE_DEVICES: x}\n"),
       "m.yaml:8:1: error[RB009]: unknown key `env`; settings of a cell are knobs\n"
       "m.yaml:8:7: error[RB028]: env CUDA_VISIBLE_DEVICES may not be set by a matrix"},
      {"B28 NVIDIA_VISIBLE_DEVICES", matrix_with("env: {NVIDIA_VISIBLE_DEVICES: x}\n"),
       "m.yaml:8:1: error[RB009]: unknown key `env`; settings of a cell are knobs\n"
       "m.yaml:8:7: error[RB028]: env NVIDIA_VISIBLE_DEVICES may not be set by a matrix"},
      {"B28 other names", matrix_with("env: {FOO: bar}\n"),
       "m.yaml:8:1: error[RB009]: unknown key `env`; settings of a cell are knobs"},
      {"B29 no image here", matrix_with("image: pytorch:2.5\n"), "m.yaml:8:1: error[RB009]: unknown key `image`"},
      {"B30", "schema: 1\nname: ${USER}\nsuites: [smoke]\naxes: {stack: [a]}\n",
       "m.yaml:2:7: error[RB030]: variables are not expanded: `${USER}`; write the value itself"},
      {"B31 no constraint here", matrix_with("constraint: sm_90\n"),
       "m.yaml:8:1: error[RB009]: unknown key `constraint`"},
      {"device", matrix_with_axes("  stack: [a]\n  device: [cuda]\n"),
       "m.yaml:6:12: error[RB019]: `device` must be cpu or a GPU class such as sm_90, got `cuda`"},
      {"knob value", matrix_with_axes("  stack: [a]\n  precision: [fp23]\n"),
       "m.yaml:6:15: error[RB019]: `precision` must be one of fp32, bf16, fp16, fp64, got `fp23`; did you mean "
       "`fp32`?"},
      {"axis name", matrix_with_axes("  stack: [a]\n  presicion: [fp32]\n"),
       "m.yaml:6:3: error[RB009]: unknown axis `presicion`; did you mean `precision`?"},
      {"where name", matrix_with("required: [{devise: cpu}]\n"),
       "m.yaml:8:13: error[RB009]: unknown coordinate `devise`; did you mean `device`?"},
      {"where text", matrix_with("exclude: [{where: \"devise == cpu\"}]\n"),
       "m.yaml:8:20: error[RB009]: in a selection: unknown name `devise`; did you mean `device`?"},
  };
  return kRows;
}

const std::vector<Row>& threshold_rows() {
  const auto rule = [](const std::string& metric, const std::string& body) {
    return matrix_with("thresholds:\n  " + metric + ": " + body + "\n");
  };
  static const std::vector<Row> kRows = {
      {"B32", rule("throughput.step_tim", "{max: 5ms}"),
       "m.yaml:9:3: error[RB032]: unknown metric `throughput.step_tim`; did you mean `throughput.step_time`?"},
      {"B32 family", rule("throughputs.*", "{gate: record_only}"),
       "m.yaml:9:3: error[RB032]: unknown metric `throughputs.*`"},
      {"B18 family", rule("throughput.*", "{max: 5ms, gate: record_only}"),
       "m.yaml:9:18: error[RB018]: `throughput.*` stands for several metrics, which have no `max` in common; give it a "
       "`gate` and a `where`, and bounds to each metric by its name"},
      {"B18 family without a gate", rule("throughput.*", "{where: {stack: a}}"),
       "m.yaml:9:17: error[RB018]: a rule of `throughput.*` needs a `gate`"},
      {"B33", rule("throughput.step_time", "{maximum: 5ms}"),
       "m.yaml:9:25: error[RB018]: a rule needs a bound (max, min, equal, max_regression, band) or a `gate`\n"
       "m.yaml:9:26: error[RB033]: unknown bound `maximum`"},
      {"B34 NaN", rule("numerics.loss_rel", "{max: .nan}"),
       "m.yaml:9:28: error[RB034]: `max` must be finite, got `.nan`; write for example 1e-5"},
      {"B34 infinity", rule("numerics.loss_rel", "{max: 1e400}"),
       "m.yaml:9:28: error[RB034]: `max` must be finite, got `1e400`; write for example 1e-5"},
      {"B35 no vs", rule("throughput.step_time", "{max_regression: 5%}"),
       "m.yaml:9:42: error[RB035]: `max_regression` is relative to nothing; add `vs: reference`"},
      {"B35 no reference",
       "schema: 1\nname: m\nsuites: [smoke]\naxes: {stack: [a]}\nthresholds:\n  throughput.step_time: "
       "{max_regression: 5%, vs: reference}\n",
       "m.yaml:6:25: error[RB035]: `max_regression: 5%` of `throughput.step_time` needs a reference; add `reference: "
       "{stack: NAME}`"},
      {"B35 a limit of a ratio", rule("throughput.step_time", "{min: 1ms, vs: reference}"),
       "m.yaml:9:40: error[RB035]: `throughput.step_time` against the reference is a ratio, which takes no limit; "
       "write "
       "`max_regression: 5%`, or leave out `vs`"},
      {"B35 a regression of what compares", rule("numerics.loss_rel", "{max_regression: 5%, vs: reference}"),
       "m.yaml:9:39: error[RB035]: `numerics.loss_rel` compares already and has no regression; bound it by `max`, "
       "`min` "
       "or `equal`"},
      {"B35 the same without a side", rule("numerics.loss_rel", "{max_regression: 5%}"),
       "m.yaml:9:39: error[RB035]: `numerics.loss_rel` compares already and has no regression; bound it by `max`, "
       "`min` "
       "or `equal`"},
      {"B18 a side of no bound", rule("throughput.step_time", "{gate: armed, vs: reference}"),
       "m.yaml:9:43: error[RB018]: `vs` belongs to a bound, and this rule has none"},
      {"B19 a key that is a list", matrix_with("[a]: 1\n"), "m.yaml:8:1: error[RB019]: a key must be text, got a list"},
      {"B35 another side", rule("numerics.repeat_mismatches", "{max: 0, vs: reference}"),
       "m.yaml:9:44: error[RB035]: `numerics.repeat_mismatches` is not held against the reference; leave out `vs`"},
      {"B35 in a list", rule("memory.peak_rss", "[{max: 1GiB}, {equal: 2GiB, vs: reference, where: {device: cpu}}]"),
       "m.yaml:9:52: error[RB035]: `memory.peak_rss` against the reference is a ratio, which takes no limit; write "
       "`max_regression: 5%`, or leave out `vs`"},
      {"B36", rule("throughput.samples", "{min: 5, max: 3}"), "m.yaml:9:23: error[RB036]: min 5 is larger than max 3"},
      {"B36 of repeats", matrix_with("repeat: 7\nmax_repeat: 6\n"),
       "m.yaml:9:13: error[RB036]: `max_repeat` 6 is less than `repeat` 7"},
      {"B36 alone", matrix_with("max_repeat: 6\n"),
       "m.yaml:8:13: error[RB036]: `max_repeat` without `repeat`; say how often at least, too: `repeat: 7`"},
      {"B37", rule("throughput.step_time", "{max_regression: -5%, vs: reference}"),
       "m.yaml:9:42: error[RB037]: `max_regression` must not be negative, got `-5%`; write for example 5%"},
      {"B38", rule("throughput.step_time", "{max_regression: 5, vs: reference}"),
       "m.yaml:9:42: error[RB038]: `max_regression` needs an explicit %, got `5`; write for example 5%"},
      {"B38 of a ratio", rule("numerics.loss_rel", "{max: 5}"),
       "m.yaml:9:28: error[RB038]: `max` needs an explicit %, got `5`; write for example 1e-5"},
      {"B20 of a bound", rule("throughput.step_time", "{max: 5}"),
       "m.yaml:9:31: error[RB020]: `max` of `throughput.step_time` must be in ns, got `5`; write for example 5ms"},
      {"B39", rule("memory.peak_rss", "[{max: 1GiB}, {max: 2GiB}]"),
       "m.yaml:9:34: error[RB039]: contradicts the rule at 9:21: same metric, same cells"},
      {"B39 two bounds", rule("throughput.samples", "{min: 3, equal: 5}"),
       "m.yaml:9:23: error[RB039]: a rule has more than one bound; one bound a rule"},
      {"B39 a band and a bound", rule("throughput.samples", "{band: [3, 5], max: 4}"),
       "m.yaml:9:23: error[RB039]: a rule has more than one bound; one bound a rule"},
      {"B36 a band", rule("throughput.samples", "{band: [5, 3]}"),
       "m.yaml:9:30: error[RB036]: the band begins at 5 and ends at 3"},
      {"B18 a band of one end", rule("throughput.samples", "{band: [5]}"),
       "m.yaml:9:30: error[RB018]: `band` has 1 ends; write for example [0.31, 0.52]"},
      {"B19 a band of words", rule("throughput.samples", "{band: [low, 5]}"),
       "m.yaml:9:31: error[RB019]: `band` must be a number, got `low`; write for example 1000"},
      {"B34 a band without an end", rule("throughput.samples", "{band: [5, inf]}"),
       "m.yaml:9:34: error[RB034]: `band` must be finite, got `inf`; write for example 1000"},
      {"B46 nothing below zero", rule("numerics.repeat_mismatches", "{min: 0}"),
       "m.yaml:9:31: error[RB046]: `min: 0` of `numerics.repeat_mismatches` can never fail; lower is better: bound it "
       "by `max`, or from both sides by `band`"},
      {"B46 a ratio", rule("throughput.samples", "{min: 0}"),
       "m.yaml:9:23: error[RB046]: `min: 0` of `throughput.samples` can never fail; higher is better: bound it by "
       "`min`, or from both sides by `band`"},
      {"B46 the good side", rule("numerics.final_loss", "{min: 0.5}"),
       "m.yaml:9:24: error[RB046]: `min: 0.5` of `numerics.final_loss` only fails what is good; lower is better: bound "
       "it by `max`, or from both sides by `band`"},
      {"B46 the good side of speed", rule("throughput.samples", "{max: 10}"),
       "m.yaml:9:23: error[RB046]: `max: 10` of `throughput.samples` only fails what is good; higher is better: bound "
       "it by `min`, or from both sides by `band`"},
      {"B46 recorded", rule("throughput.samples", "{min: 0, gate: record_only}"),
       "m.yaml:9:23: error[RB046]: `min: 0` of `throughput.samples` can never fail; higher is better: bound it by "
       "`min`, or from both sides by `band`"},
      {"B46 a whole share", rule("data.wait_share", "{max: 100%}"),
       "m.yaml:9:20: error[RB046]: `max: 100%` of `data.wait_share` can never fail; lower is better: bound it by "
       "`max`, or from both sides by `band`"},
      {"B46 a band around all", rule("data.wait_share", "{band: [0, 100%]}"),
       "m.yaml:9:20: error[RB046]: `band: [0, 100%]` of `data.wait_share` can never fail; lower is better: bound it "
       "by `max`, or from both sides by `band`"},
      {"B20 a band of numbers", rule("throughput.step_time", "{band: [5, 6ms]}"),
       "m.yaml:9:33: error[RB020]: `band` of `throughput.step_time` must be in ns, got `5`; write for example 5ms"},
  };
  return kRows;
}

void check_rows(const std::vector<Row>& rows) {
  for (const Row& row : rows) {
    INFO(row.name);
    if (!row.error.empty()) CHECK(matrix_error(row.text) == row.error);
  }
}

}  // namespace

TEST_CASE("a file that is no matrix at all is refused with its place", "[spec]") { check_rows(file_rows()); }

TEST_CASE("a value that its key cannot have is refused with its place", "[spec]") { check_rows(value_rows()); }

TEST_CASE("a threshold that cannot be judged is refused with its place", "[spec]") { check_rows(threshold_rows()); }

TEST_CASE("the good matrix that the catalogue breaks is accepted", "[spec]") {
  CHECK(matrix_error(kGoodMatrix).empty());
  for (const char* rule : {"numerics.loss_rel: {max: 1e-5, vs: reference}", "numerics.loss_rel: {max: 1e-5}",
                           "numerics.repeat_mismatches: {max: 0}", "memory.peak_rss: {max: 1GiB}",
                           "memory.peak_rss: {max_regression: 5%, vs: reference}", "memory.peak_rss: {gate: armed}",
                           "data.wait_share: {max: 99%}", "data.wait_share: {band: [0, 50%]}",
                           "data.wait_share: {band: [1%, 100%]}", "numerics.final_loss: {max: 0}"}) {
    CHECK(matrix_error(matrix_with(fmt::format("thresholds:\n  {}\n", rule))).empty());
  }
  CHECK(matrix_error(std::string("\xEF\xBB\xBF") + kGoodMatrix).empty());
}

TEST_CASE("lines that end as on Windows are accepted", "[spec]") {
  std::string text;
  for (const char c : std::string(kGoodMatrix)) text += c == '\n' ? std::string("\r\n") : std::string(1, c);
  CHECK(matrix_error(text).empty());
}

// In UTF-8.
std::string code_point(char32_t c) {
  if (c < 0x80) return {static_cast<char>(c)};
  std::string tail;
  for (char32_t lead = c < 0x800 ? 0xC0 : 0xE0, rest = c;; rest >>= 6) {
    if (rest < (lead == 0xC0 ? 0x20 : 0x10)) return static_cast<char>(lead | rest) + tail;
    tail.insert(tail.begin(), static_cast<char>(0x80 | (rest & 0x3F)));
  }
}

TEST_CASE("characters that nobody sees, or that reorder text, are refused even in a comment, their neighbours not",
          "[spec]") {
  const auto error = [](char32_t c) { return matrix_error(matrix_with("# " + code_point(c) + "\n")); };
  for (const char32_t c : {0x01, 0x1F, 0x7F, 0x80, 0x9F, 0x2028, 0x2029, 0xFEFF, 0xFFFE, 0xFFFF}) {
    CHECK(error(c) == fmt::format("m.yaml:8:3: error[RB003]: control character U+{:04X} is not accepted",
                                  static_cast<unsigned>(c)));
  }
  for (const char32_t c : {0x061C, 0x200E, 0x200F, 0x202A, 0x202C, 0x202E, 0x2066, 0x2069}) {
    CHECK(error(c) == fmt::format("m.yaml:8:3: error[RB026]: bidirectional control character U+{:04X} is not accepted",
                                  static_cast<unsigned>(c)));
  }
  for (const char32_t c :
       {0x20, 0x7E, 0xA0, 0xE9, 0x061B, 0x200D, 0x2010, 0x2027, 0x202F, 0x2065, 0x206A, 0xFEFE, 0xFFFD}) {
    CAPTURE(static_cast<unsigned>(c));
    CHECK(error(c) == "");
  }
}

TEST_CASE("an alias bomb costs one error an alias and no memory", "[spec]") {
  const std::string error = matrix_error("a: &a [x]\nb: &b [*a, *a]\nc: [*b, *b]\n");
  CHECK(error.find("m.yaml:1:4: error[RB010]: anchors and aliases are not accepted") != std::string::npos);
  CHECK(error.find("m.yaml:2:8: error[RB010]") != std::string::npos);
}

TEST_CASE("a word where a list or a map belongs is refused under every key, never taken for none", "[spec]") {
  for (const std::string key : {"zip", "include", "exclude", "required", "inject"}) {
    CAPTURE(key);
    CHECK_THAT(matrix_error(matrix_with(key + ": word\n")),
               Catch::StartsWith(fmt::format("m.yaml:8:{}: error[RB019]: `{}` must be a list", key.size() + 3, key)));
  }
  for (const std::string key : {"thresholds", "limits", "defaults"}) {
    CAPTURE(key);
    CHECK_THAT(matrix_error(matrix_with(key + ": word\n")),
               Catch::StartsWith(fmt::format("m.yaml:8:{}: error[RB019]: `{}` must be a map", key.size() + 3, key)));
  }
}

TEST_CASE("a suite is told what a suite needs", "[spec]") {
  CHECK(suite_error("# nothing\n") == "s.yaml:1:1: error[RB001]: file has no content; a suite needs `workloads:`");
  CHECK(suite_error(suite_with("exclusive: yes\n")) ==
        "s.yaml:5:12: error[RB019]: `exclusive` must be true or false, got `yes`");
  CHECK(suite_error(suite_with("turns: 20\n")) ==
        "s.yaml:5:8: error[RB036]: `turns` without `exclusive`; say that its times count, too: `exclusive: true`");
  CHECK(suite_error(suite_with("exclusive: true\nturns: 1\n")) ==
        "s.yaml:6:8: error[RB021]: `turns` must be from 2 to 1000, got `1`");
  CHECK(suite_error(suite_with("knobs: {threads: two}\n")) ==
        "s.yaml:5:18: error[RB019]: `threads` must be a whole number, got `two`");
  for (const char* wrong : {"one", "-1", "1e3"}) {
    CHECK(suite_error(suite_with(std::string("knobs: {max_grad_norm: ") + wrong + "}\n")) ==
          std::string("s.yaml:5:24: error[RB019]: `max_grad_norm` must be a number from 0 on such as 0.5, got `") +
              wrong + "`");
  }
  CHECK(suite_error(suite_with("knobs: {max_grad_norm: \"1.0\"}\n")) ==
        "s.yaml:5:24: error[RB019]: `max_grad_norm` must be a number from 0 on such as 0.5, got string \"1.0\"");
  CHECK(suite_error(suite_with("knobs: {loader_threads: -1}\n")) ==
        "s.yaml:5:25: error[RB021]: `loader_threads` must be from 0 to 999999999, got `-1`");
  CHECK(suite_error(suite_with("knobs: {thread: 2}\n")) ==
        "s.yaml:5:9: error[RB009]: unknown knob `thread`; did you mean `threads`?");
  CHECK(suite_error("schema: 1\nname: s\nworkloads: [{model: mpl, preset: p, steps: 1, batch_size: 1}]\n") ==
        "s.yaml:3:21: error[RB009]: unknown model `mpl`; did you mean `mlp`?");
}

TEST_CASE("a suite's rule that can select no cell of any matrix is a typo and not silence", "[spec]") {
  Vocabulary vocabulary = spec_test_vocabulary();
  vocabulary.stacks = {"torch-2.8.0-cu128", "torch-2.9.0-cu128"};
  const auto error = [&](const std::string& where) {
    const std::string text =
        fmt::format("{}thresholds:\n  throughput.step_time: {{max: 1s, where: {}}}\n", kGoodSuite, where);
    return spec_error_of([&] { parse_suite(text, "s.yaml", vocabulary); });
  };
  const std::string place = "s.yaml:6:25: error[RB040]: rule selects no cell of any matrix: ";
  CHECK(error("{stack: torch-2.9.0-cu129}") ==
        place + "`stack` is never `torch-2.9.0-cu129`; did you mean `torch-2.9.0-cu128`?");
  CHECK(error("\"not (device != cuda)\"") == place + "`device` is never `cuda`; cpu, or a class such as sm_90");
  CHECK(error("\"device == cpu or precision in (fp32, fb16)\"") ==
        place + "`precision` is never `fb16`; did you mean `bf16`?");
  CHECK(error("{workload: gpt2}") == place + "`workload` is never `gpt2`");
  CHECK(error("{suite: smoky}") == place + "`suite` is never `smoky`; did you mean `smoke`?");
  for (const char* good : {"{stack: torch-2.9.0-cu128}", "\"device == sm_120 and threads == 3\"",
                           "{workload: mlp.default}", "{suite: smoke, precision: bf16, world_size: 2}"}) {
    CHECK(error(good).empty());
  }
}

TEST_CASE("a preset that no installed worker has is refused with its place", "[spec]") {
  Vocabulary vocabulary = spec_test_vocabulary();
  const auto error = [&] { return spec_error_of([&] { parse_suite(kGoodSuite, "s.yaml", vocabulary); }); };
  CHECK(error().empty());
  vocabulary.presets = {{"mlp", {"base", "defaults"}}};
  CHECK(error() == "s.yaml:4:26: error[RB009]: unknown preset `default`; did you mean `defaults`?");
  vocabulary.presets = {{"mlp", {"default"}}};
  CHECK(error().empty());
}

TEST_CASE("what an error quotes of a file stays in its line and moves no cursor", "[spec]") {
  const std::string error = matrix_error("schema: 1\nname: \"a\\nb\\e[2K\\u202e\"\n");
  CHECK(std::count(error.begin(), error.end(), '\x1b') == 0);
  CHECK(error.find("\u202e") == std::string::npos);
  for (std::size_t at = 0; (at = error.find('\n', at)) != std::string::npos; ++at)
    CHECK(error.substr(at + 1, 7) == "m.yaml:");
}

TEST_CASE("all errors of a file come at once, in file order, at most 20", "[spec]") {
  const std::string two = matrix_error(matrix_with("repeat: 0\ntimeout: 5\n"));
  CHECK(two.find("m.yaml:8:9: error[RB021]") == 0);
  CHECK(two.find("\nm.yaml:9:10: error[RB020]") != std::string::npos);

  std::string many = kGoodMatrix;
  for (int i = 0; i < 30; ++i) many += "zebra" + std::to_string(i) + ": 1\n";
  const std::string error = matrix_error(many);
  CHECK(std::count(error.begin(), error.end(), '\n') == 19);
  CHECK(error.find("m.yaml:8:1: error[RB009]: unknown key `zebra0`") == 0);
}

TEST_CASE("a path that is missing or a folder is refused by name", "[spec]") {
  const auto load_error = [](const std::string& path) {
    return spec_error_of([&] { load_matrix(path, spec_test_vocabulary()); });
  };
  CHECK(load_error("no/such.yaml") == "no/such.yaml: error[RB027]: cannot be read: No such file or directory");
  CHECK(load_error("/") == "/: error[RB027]: cannot be read: it is a folder");
  CHECK(load_error("/dev/null") == "/dev/null: error[RB027]: cannot be read: it is not a regular file");
}

TEST_CASE("a mistyped path is told the nearest name beside it", "[spec]") {
  const TemporaryFolder folder;
  std::ofstream(folder.path / "smoke.yaml") << "schema: 1\n";
  const std::string typed = (folder.path / "smok.yaml").string();
  CHECK(spec_error_of([&] { load_matrix(typed, spec_test_vocabulary()); }) ==
        typed + ": error[RB027]: cannot be read: No such file or directory; did you mean `" +
            (folder.path / "smoke.yaml").string() + "`?");
}

TEST_CASE("a file of more values than the cap is refused", "[spec]") {
  std::string text = "axes: [";
  for (std::size_t i = 0; i < kMaxNodes; ++i) text += "a,";
  CHECK(matrix_error(text + "]\n").find("error[RB016]: more than 100000 values") != std::string::npos);
}
