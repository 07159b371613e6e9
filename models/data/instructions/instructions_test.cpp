#include "models/data/instructions/instructions.hpp"

#include <algorithm>
#include <fstream>

#include <unistd.h>

#include "ci/catch.hpp"
#include "ci/temporary.hpp"
#include "models/data/byte_tokens.hpp"

namespace reprobench {
namespace {

const std::filesystem::path kShipped =
    std::filesystem::path(REPROBENCH_SOURCE_ROOT) / "models" / "data" / "instructions" / "instructions.json";

// Of `text` as a file; without the file's name, which the message must begin with.
std::string refusal_of(const std::string& text) {
  const TemporaryFolder folder;
  const auto path = folder.path / "instructions.json";
  std::ofstream(path, std::ios::binary) << text;
  std::string said;
  try {
    load_instructions(path);
  } catch (const std::runtime_error& error) {
    said = error.what();
    REQUIRE(said.starts_with(path.string() + ": "));
    said.erase(0, path.string().size() + 2);
  }
  return said;
}

std::vector<std::int64_t> tokens_in(const DataSet& data, std::int64_t sample, std::size_t field) {
  std::vector<std::int64_t> values(static_cast<std::size_t>(data.fields()[field].shape.front()));
  data.copy(sample, field, reinterpret_cast<std::byte*>(values.data()));
  return values;
}

TEST_CASE("the shipped instructions are records that fit a context of 128 bytes whole", "[models]") {
  const auto records = load_instructions(kShipped);
  CHECK(records.size() == 138);
  const auto data = instruction_samples(records, 128);
  REQUIRE(data->size() == 138);
  for (std::int64_t i = 0; i < data->size(); ++i) {
    const auto targets = tokens_in(*data, i, 1);
    CHECK(std::count(targets.begin(), targets.end(), kEndToken) == 1);
  }
}

TEST_CASE("only the response and the end are targets, each one place before its token", "[models]") {
  const auto data = instruction_samples({{"Do.", "x", "Y\xC3\xA9"}}, 64);
  const std::string prompt = "### Instruction:\nDo.\n\n### Input:\nx\n\n### Response:\n";
  const auto input = tokens_in(*data, 0, 0);
  const auto target = tokens_in(*data, 0, 1);
  CHECK(input[0] == kBeginToken);
  for (std::size_t i = 0; i < prompt.size(); ++i) CHECK(input[i + 1] == prompt[i]);
  const std::size_t first = prompt.size();  // predicts the response's first byte
  const std::vector<std::int64_t> response{'Y', 0xC3, 0xA9, kEndToken};
  for (std::size_t i = 0; i < target.size(); ++i) {
    CHECK(target[i] == (i >= first && i < first + 4 ? response[i - first] : kNoTarget));
  }
  CHECK(input[first + 1] == 'Y');
  CHECK(input[first + 4] == kEndToken);
  CHECK(input[first + 5] == kPaddingToken);
}

TEST_CASE("without an input the prompt has no heading for one", "[models]") {
  CHECK(prompt_of({"Do.", "", "Y"}) == "### Instruction:\nDo.\n\n### Response:\n");
}

TEST_CASE("a response is cut at the context, and a record without room for one is left out", "[models]") {
  const InstructionRecord record{"Do.", "", "abc"};
  const auto prompt = static_cast<std::int64_t>(prompt_of(record).size());
  const auto data = instruction_samples({record, {"Do much more.", "", "abc"}}, prompt + 2);
  REQUIRE(data->size() == 1);
  const auto target = tokens_in(*data, 0, 1);
  CHECK(std::vector(target.end() - 2, target.end()) == std::vector<std::int64_t>{'a', 'b'});
  CHECK_THROWS_WITH(instruction_samples({record}, prompt),
                    "no instruction leaves room for a response in a context of " + std::to_string(prompt) + " bytes");
}

TEST_CASE("the digest of instructions covers texts, where responses begin, and the context", "[models]") {
  const auto digest = [](const InstructionRecord& record, std::int64_t context) {
    return instruction_samples({record}, context)->digest();
  };
  const InstructionRecord record{"Do.", "x", "Y"};
  CHECK(digest(record, 64) == digest(record, 64));
  CHECK_FALSE(digest({"Do.", "x", "Z"}, 64) == digest(record, 64));
  CHECK_FALSE(digest(record, 65) == digest(record, 64));
}

TEST_CASE("what became of records is counted: samples, those that are cut, and those left out", "[models]") {
  const InstructionRecord record{"Do.", "", "abc"};
  const auto prompt = static_cast<std::int64_t>(prompt_of(record).size());
  // BEGIN, the prompt, three bytes and END are prompt + 5 tokens; a context of one less holds them all.
  const auto counts = [&](std::int64_t context) {
    return *instruction_samples({record, {"Do much more.", "", "abc"}}, context)->record_counts();
  };
  CHECK(counts(prompt + 4).records == 2);
  CHECK(counts(prompt + 4).samples == 1);
  CHECK(counts(prompt + 4).cut == 0);
  CHECK(counts(prompt + 3).cut == 1);
  CHECK(counts(1000).samples == 2);
}

TEST_CASE("a list and JSON Lines of the same records are the same samples", "[models]") {
  const std::string a = R"({"instruction": "a", "input": "", "output": "b"})";
  const std::string c = R"({"instruction": "c", "input": "", "output": "d"})";
  const auto digest = [](const std::string& text) {
    return instruction_samples(instructions_in(text, "x"), 64)->digest();
  };
  CHECK(digest("[" + a + "," + c + "]") == digest(a + "\n\n" + c + "\r\n"));
  CHECK(digest("\xEF\xBB\xBF" + a + "\n" + c) == digest("[" + a + "," + c + "]"));
  CHECK_FALSE(digest(a + "\n" + c) == digest(c + "\n" + a));
  CHECK_THROWS_WITH(instructions_in(a + "\n7", "x"), "x: record 1 is of type number, expected an object");
  CHECK_THROWS_WITH(instructions_in(a + "\n{", "x"), Catch::Contains("x: line 2: parse error"));
}

TEST_CASE("a bad file of instructions is refused with the place and what is wrong there", "[models]") {
  const std::string good = R"({"instruction": "a", "input": "", "output": "b"})";
  CHECK(refusal_of("[" + good + "]").empty());
  CHECK(refusal_of("[]") == "holds no record");
  CHECK(refusal_of("").find("parse error") == 0);
  CHECK(refusal_of("{}") == "record 0 has no `instruction`");  // as a line of JSON Lines
  CHECK(refusal_of("7") == "is of type number, expected an array of records");
  CHECK(refusal_of("[" + good + ", 7]") == "record 1 is of type number, expected an object");
  CHECK(refusal_of("[" + good + R"(, {"instruction": "a", "input": ""}])") == "record 1 has no `output`");
  CHECK(refusal_of(R"([{"input": "", "output": "b"}])") == "record 0 has no `instruction`");
  CHECK(refusal_of(R"([{"instruction": "a", "output": "b"}])") == "record 0 has no `input`");
  CHECK(refusal_of(R"([{"instruction": "a", "input": null, "output": "b"}])") ==
        "record 0: `input` is of type null, expected text");
  CHECK(refusal_of(R"([{"instruction": "a", "input": "", "output": ["b"]}])") ==
        "record 0: `output` is of type array, expected text");
  CHECK(refusal_of(R"([{"instruction": "a", "input": "", "output": ""}])") == "record 0 has an empty `output`");
  CHECK(refusal_of("[" + good.substr(0, good.size() - 3) + std::string(1'000'000, 'x') + "\"}]") ==
        "record 0 has 1000001 bytes, at most 65536 are taken");
  CHECK(refusal_of("[{\"instruction\": \"a\xFF\", \"input\": \"\", \"output\": \"b\"}]") ==
        "parse error at line 1, column 20: syntax error while parsing value - invalid string: ill-formed UTF-8 byte");
  CHECK(refusal_of("[" + good.substr(0, 20)).find("parse error at line 1") == 0);
  CHECK_THROWS_WITH(load_instructions("/no/such/file.json"), "/no/such/file.json: cannot be opened");
}

}  // namespace
}  // namespace reprobench
