#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ci/catch.hpp"
#include "matrix/contract/document/reader.hpp"
#include "matrix/contract/document/schema.hpp"
#include "matrix/contract/document/text_writer.hpp"
#include "matrix/contract/version.hpp"

namespace reprobench {
namespace {

enum class Colour { red, green };
enum class Drive : int { belt = 3, chain = 7 };

struct Wheel {
  int spokes = 32;
  double radius_m = 0.5;
  bool operator==(const Wheel&) const = default;
};

struct Bicycle {
  std::string name;
  std::optional<int> gears;
  std::optional<std::int64_t> built_us;
  Colour colour = Colour::red;
  std::vector<Wheel> wheels;
  std::map<std::string, std::string> labels;
  std::string bell_or_horn;
  bool has_bell = true;
  int lights = 0;
  int reflectors = 0;
  std::chrono::milliseconds brake{20};
  std::string serial = std::string(32, '0');
  Drive drive = Drive::chain;
  double weight_kg = 12.5;
  std::string shop = "abc";
  std::vector<std::string> stickers;
  nlohmann::json price = exact_float(1.5);
  nlohmann::json wear = -0.5;
  std::uint64_t turns = std::numeric_limits<std::uint64_t>::max();
  bool operator==(const Bicycle&) const = default;
};

}  // namespace

template <>
struct Words<Colour> {
  static constexpr std::array<std::string_view, 2> table = {"red", "green"};
};

template <>
struct Numbers<Drive> {
  static constexpr std::array<Drive, 2> table = {Drive::belt, Drive::chain};
};

template <>
struct Description<Wheel> {
  static constexpr About about = About::part("wheel", "One of a bicycle's.");
  static void fields(auto& field, Wheel& wheel) {
    field("spokes", wheel.spokes, rule::between(0, 100));
    field("radius_m", wheel.radius_m);
  }
};

template <>
struct Description<Bicycle> {
  static constexpr About about = About::document("bicycle", "bicycle.json: for tests");
  static void fields(auto& field, Bicycle& bicycle) {
    field("name", bicycle.name, rule::not_empty);
    field("gears", bicycle.gears, rule::at_least(1));
    field.optional("built_us", bicycle.built_us, rule::time);
    field("colour", bicycle.colour, "Of its frame.");
    field("wheels", bicycle.wheels);
    field("labels", bicycle.labels);
    field.as(
        "name_length", [&] { return static_cast<int>(bicycle.name.size()); }, [](int) {});
    if (field.either("bell", bicycle.has_bell)) {
      field("bell", bicycle.bell_or_horn);
    } else {
      field("horn", bicycle.bell_or_horn);
    }
    field.since(kContractVersion.minor + 1, "lights", bicycle.lights);
    field.since(kContractVersion.minor, "reflectors", bicycle.reflectors);
    field.group("brakes", [&](auto& brakes) { brakes("delay_ms", bicycle.brake, rule::at_least(0)); });
    field("serial", bicycle.serial, rule::digest);
    field("drive", bicycle.drive);
    field("weight_kg", bicycle.weight_kg, rule::at_least(0));
    field("shop", bicycle.shop, rule::letters_of("abc", 4));
    field.optional("stickers", bicycle.stickers, rule::not_empty_list);
    field("price", bicycle.price, rule::of_form(Rule::Form::exact_float_or_null));
    field("wear", bicycle.wear, rule::of_form(Rule::Form::number_or_null));
    field("turns", bicycle.turns);
    field.hold(bicycle.wheels.size() < 4, "has too many wheels");
  }
};

namespace {

Bicycle some_bicycle() {
  Bicycle bicycle;
  bicycle.name = "a \"fast\" one";
  bicycle.colour = Colour::green;
  bicycle.wheels = {{32, 0.35}, {16, std::numeric_limits<double>::infinity()}};
  bicycle.labels["owner"] = "nobody";
  bicycle.lights = 2;
  return bicycle;
}

Bicycle read(const nlohmann::json& json) { return read_document<Bicycle>(json); }

TEST_CASE("a described struct survives its document, as values and as text", "[contract]") {
  Bicycle bicycle = some_bicycle();
  SECTION("with all that may be missing") {
    bicycle.gears = 21;
    bicycle.built_us = 7;
    bicycle.stickers = {""};
    bicycle.price = nullptr;
    bicycle.wear = nullptr;
  }
  SECTION("without") {}
  SECTION("by its other set of fields") { bicycle.has_bell = false; }
  JsonText text;
  write_text(text, bicycle);
  CHECK(nlohmann::json::parse(text.text()) == written(bicycle));
  CHECK(text.text().find(R"("turns":18446744073709551615)") != std::string::npos);  // equal to -1 as values of JSON
  Bicycle back = read(written(bicycle));
  back.has_bell = bicycle.has_bell;
  CHECK(back == bicycle);
}

TEST_CASE("an optional value is null, an optional field is absent", "[contract]") {
  const nlohmann::json json = written(some_bicycle());
  CHECK(json.at("gears").is_null());
  CHECK_FALSE(json.contains("built_us"));
  nlohmann::json without = json;
  without.erase("gears");
  CHECK_THROWS_WITH(read(without), "bicycle: `gears` is missing");
  nlohmann::json with_null = json;
  with_null["built_us"] = nullptr;
  CHECK_THROWS_WITH(read(with_null), "bicycle: `built_us` is not an integer");
}

TEST_CASE("whatever is wrong is named with its place", "[contract]") {
  const auto [path, value, problem] = GENERATE(table<const char*, nlohmann::json, const char*>({
      {"/name", "", "bicycle: `name` is empty"},
      {"/name", 3, "bicycle: `name` is not text"},
      {"/gears", 3.7, "bicycle: `gears` is not an integer"},
      {"/gears", 3.0, "bicycle: `gears` is not an integer"},
      {"/gears", 0, "bicycle: `gears` is 0, under 1"},
      {"/gears", std::int64_t{1} << 40, "bicycle: `gears` is 1099511627776, out of range"},
      {"/gears", std::numeric_limits<std::uint64_t>::max(), "bicycle: `gears` is no integer of 64 bits"},
      {"/built_us", (std::int64_t{1} << 53) + 1, "bicycle: `built_us` is 9007199254740993, over 9007199254740992"},
      {"/colour", "blue", "bicycle: `colour` is `blue`, none of red, green"},
      {"/wheels/1/spokes", true, "bicycle: `wheels/1/spokes` is not an integer"},
      {"/wheels/1/radius_m", "wide", "bicycle: `wheels/1/radius_m` is not a number"},
      {"/wheels/1/radius_m", nullptr, "bicycle: `wheels/1/radius_m` is not a number"},
      {"/wheels/0", 5, "bicycle: `wheels/0` is not an object"},
      {"/wheels", nlohmann::json::object(), "bicycle: `wheels` is not a list"},
      {"/labels/owner", 5, "bicycle: `labels/owner` is not text"},
      {"/brakes/delay_ms", -1, "bicycle: `brakes/delay_ms` is -1, under 0"},
      {"/serial", "00FF", "bicycle: `serial` is not 32 hex digits"},
      {"/drive", 4, "bicycle: `drive` is 4, none of 3, 7"},
      {"/wear", "much", "bicycle: `wear` is neither a number nor null"},
      {"/turns", -1, "bicycle: `turns` is -1, under 0"},
      {"/turns", 0.5, "bicycle: `turns` is not an integer"},
      {"/drive", 7.0, "bicycle: `drive` is not an integer"},
      {"/weight_kg", -0.5, "bicycle: `weight_kg` is -0.500000, under 0"},
      {"/weight_kg", "inf", "bicycle: `weight_kg` is not finite"},
      {"/shop", "aabbc", "bicycle: `shop` has 5 letters, over 4"},
      {"/stickers", nlohmann::json::array(), "bicycle: `stickers` holds 0 items, under 1"},
      {"/price", 1.5, "bicycle: `price` is not an exact float, or its bits and value disagree"},
      {"/wheels/0/tyre", 1, "bicycle: `wheels/0/tyre` is not a field of this document"},
      {"/brakes/colour", 1, "bicycle: `brakes/colour` is not a field of this document"},
      {"/horn", "loud", "bicycle: `horn` is not a field of this document"},
  }));
  nlohmann::json json = written(some_bicycle());
  json[nlohmann::json::json_pointer(path)] = value;
  CHECK_THROWS_WITH(read(json), problem);
  nlohmann::json many = written(some_bicycle());
  many["wheels"] = nlohmann::json(4, written(Wheel{}));
  CHECK_THROWS_WITH(read(many), "bicycle: the document has too many wheels");
}

TEST_CASE("a field that came with a version may be missing only from documents before it", "[contract]") {
  nlohmann::json json = written(some_bicycle());
  json.erase("lights");
  CHECK(read(json).lights == 0);
  json.erase("reflectors");
  CHECK_THROWS_WITH(read(json), "bicycle: `reflectors` is missing");
}

TEST_CASE("a head of the wrong type is refused, not thrown past its reader", "[contract]") {
  const nlohmann::json odd = GENERATE(values<nlohmann::json>({nullptr, 3, "x", nlohmann::json::array(), 0.5}));
  nlohmann::json json = written(some_bicycle());
  json["schema"] = odd;
  CHECK_THROWS_AS(read(json), ContractError);
  json = written(some_bicycle());
  json["version"]["minor"] = odd == 3 ? nlohmann::json(-1) : odd;
  CHECK_THROWS_AS(read(json), ContractError);
  json["version"] = odd;
  CHECK_THROWS_AS(read(json), ContractError);
  CHECK_THROWS_AS(read(odd), ContractError);
}

TEST_CASE("the schema says what the reader demands", "[contract]") {
  const SchemaJson schema = document_schema<Bicycle>();
  REQUIRE(schema.at("oneOf").size() == 2);
  const SchemaJson& with_bell = schema.at("oneOf").at(0);
  CHECK(with_bell.at("additionalProperties") == false);
  CHECK(with_bell.at("properties").at("schema").at("const") == "reprobench/bicycle");
  CHECK(with_bell.at("properties").contains("bell"));
  CHECK_FALSE(with_bell.at("properties").contains("horn"));
  const auto& required = with_bell.at("required");
  CHECK(std::count(required.begin(), required.end(), "gears") == 1);
  CHECK(std::count(required.begin(), required.end(), "built_us") == 0);
  CHECK(std::count(required.begin(), required.end(), "lights") == 0);
  const auto& properties = with_bell.at("properties");
  CHECK(properties.at("gears").dump() == R"({"anyOf":[{"type":"integer","minimum":1},{"type":"null"}]})");
  CHECK(properties.at("built_us").dump() == R"({"type":"integer","minimum":0,"maximum":9007199254740992})");
  CHECK(properties.at("colour").dump() == R"({"description":"Of its frame.","enum":["red","green"]})");
  CHECK(properties.at("wheels").dump() == R"({"type":"array","items":{"$ref":"#/definitions/wheel"}})");
  CHECK(properties.at("serial").dump() == R"({"type":"string","pattern":"^[0-9a-f]{32}$"})");
  CHECK(properties.at("drive").dump() == R"({"enum":[3,7]})");
  CHECK(properties.at("weight_kg").dump() == R"({"type":"number","minimum":0})");
  CHECK(properties.at("shop").dump() == R"({"type":"string","pattern":"^[abc]{1,4}$"})");
  CHECK(properties.at("stickers").dump() == R"({"type":"array","items":{"type":"string"},"minItems":1})");
  CHECK(properties.at("wear").dump() == R"({"anyOf":[{"$ref":"#/definitions/number"},{"type":"null"}]})");
  CHECK(properties.at("turns").dump() == R"({"type":"integer","minimum":0})");
  CHECK(properties.at("brakes").at("properties").contains("delay_ms"));
  CHECK(schema.at("definitions").at("wheel").at("properties").at("radius_m").at("$ref") == "#/definitions/number");
}

}  // namespace
}  // namespace reprobench
