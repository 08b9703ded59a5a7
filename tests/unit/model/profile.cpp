// What does a profile of one's own become, and what is said when it is wrong?
#include "core/model/profile.hpp"

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

namespace xdc {
namespace {

const std::string kHead = "name = \"mine\"\ndescription = \"d\"\nsource = \"s\"\nsample = \"one\"\n";
const std::string kLayer = "[[layer]]\nname = \"a\"\nparameters = 10\nforward_flops = 100\nforward_values = 7\nkept_values = 3\n";

CostProfile good(const std::string& text) {
  Diagnostics diagnostics;
  auto profile = parse_profile(text, "mine.toml", diagnostics);
  INFO(diagnostics.text());
  REQUIRE(profile);
  CHECK(diagnostics.ok());
  return *profile;
}

std::string errors(const std::string& text) {
  Diagnostics diagnostics;
  const auto profile = parse_profile(text, "mine.toml", diagnostics);
  CHECK_FALSE(profile);
  CHECK_FALSE(diagnostics.ok());
  return diagnostics.text();
}

void contains(const std::string& text, const std::string& part) { CHECK_THAT(text, Catch::Matchers::Contains(part)); }

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const auto at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

// A file that is gone when the test is.
class TemporaryFile {
 public:
  TemporaryFile(const std::string& name, const std::string& text)
      : path_(std::filesystem::temp_directory_path() / ("xdc_profile_" + name)) {
    std::ofstream(path_, std::ios::binary) << text;
  }
  ~TemporaryFile() { std::filesystem::remove(path_); }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

TEST_CASE("A profile's backward costs twice its forward where the file says nothing") {
  const auto profile = good(kHead + kLayer);
  REQUIRE(profile.layers.size() == 1);
  CHECK(profile.layers[0] == ProfileLayer{"a", 10, 100, 200, 7, 14, 3});
  const auto own = good(kHead + kLayer + "backward_flops = 250\nbackward_values = 20\n");
  CHECK(own.layers[0] == ProfileLayer{"a", 10, 100, 250, 7, 20, 3});
}

TEST_CASE("Operations and activations go with the batch, parameters with the step") {
  const ProfileLayer layer{"a", 1000, 100, 250, 7, 20, 3};
  CHECK(forward_cost(layer, 8).flops == 800);
  CHECK(forward_cost(layer, 8).bytes == 4 * (8 * 7 + 1000));
  CHECK(backward_cost(layer, 8).flops == 2000);
  CHECK(backward_cost(layer, 8).bytes == 4 * (8 * 20 + 2000));
}

TEST_CASE("Totals are sums over the layers") {
  const auto profile = good(kHead + kLayer + replaced(kLayer, "\"a\"", "\"b\"") + "repeat = 3\n");
  CHECK(profile.parameters() == 40);
  CHECK(profile.forward_flops() == 400);
  CHECK(profile.backward_flops() == 800);
  CHECK(profile.kept_values() == 12);
}

TEST_CASE("A repeated layer is written out and numbered from 1") {
  const auto profile = good(kHead + kLayer + "repeat = 3\n");
  REQUIRE(profile.layers.size() == 3);
  CHECK(profile.layers[0].name == "a #1");
  CHECK(profile.layers[2].name == "a #3");
  CHECK(profile.layers[2].parameters == 10);
}

TEST_CASE("A repeated group is written out part by part, in order, groups inside groups too") {
  const std::string figures = "parameters = 1, forward_flops = 1, forward_values = 0, kept_values = 0 }";
  const auto profile = good(kHead + "[[layer]]\nname = \"g\"\nrepeat = 2\npart = [\n{ name = \"x\", " + figures +
                            ",\n{ name = \"h\", repeat = 2, part = [{ name = \"y\", " + figures + "] },\n]\n" + kLayer);
  std::vector<std::string> names;
  for (const auto& layer : profile.layers) names.push_back(layer.name);
  CHECK(names == std::vector<std::string>{"g #1/x", "g #1/h #1/y", "g #1/h #2/y", "g #2/x", "g #2/h #1/y", "g #2/h #2/y", "a"});
}

TEST_CASE("Wrong kinds are errors at their places, all of them at once") {
  const auto text = errors(replaced(kHead, "\"d\"", "7") + replaced(replaced(kLayer, "= 10\n", "= \"ten\"\n"), "= 100", "= true"));
  contains(text, "mine.toml:2:15: description: a text in quotes is wanted, not the number 7");
  contains(text, "mine.toml:7:14: layer[0].parameters: a whole number is wanted, not the text \"ten\"");
  contains(text, "mine.toml:8:17: layer[0].forward_flops: a number is wanted");
}

TEST_CASE("Negative, fractional, infinite and absurd figures are errors that say what is allowed") {
  contains(errors(kHead + replaced(kLayer, "= 10\n", "= -1\n")), "layer[0].parameters: -1 is out of range");
  contains(errors(kHead + replaced(kLayer, "= 10\n", "= 1.5\n")), "layer[0].parameters: a whole number is wanted");
  contains(errors(kHead + replaced(kLayer, "= 100", "= -5")), "layer[0].forward_flops: -5 is out of range");
  contains(errors(kHead + replaced(kLayer, "= 100", "= inf")), "layer[0].forward_flops: a finite number is wanted");
  contains(errors(kHead + replaced(kLayer, "= 100", "= nan")), "layer[0].forward_flops: a finite number is wanted");
  contains(errors(kHead + replaced(kLayer, "= 7", "= 1e30")), "layer[0].forward_values: 1e+30 is out of range");
  contains(errors(kHead + replaced(kLayer, "= 3", "= -0.5")), "layer[0].kept_values: -0.5 is out of range");
  contains(errors(kHead + kLayer + "repeat = 0\n"), "layer[0].repeat: 0 is out of range: it must be between 1 and 10000");
}

TEST_CASE("What is missing is named") {
  contains(errors(kLayer), "name: is required");
  contains(errors(kLayer), "sample: is required");
  contains(errors(kHead + "[[layer]]\nname = \"a\"\n"), "mine.toml:5:1: layer[0].parameters: is required");
  contains(errors(kHead + "[[layer]]\nname = \"a\"\n"), "layer[0].kept_values: is required");
  contains(errors(kHead + replaced(kLayer, "name = \"a\"\n", "")), "layer[0].name: is required");
}

TEST_CASE("A profile without layers is an error, however it lacks them") {
  contains(errors(kHead), "layer: a profile has at least one [[layer]]");
  contains(errors(kHead + "layer = []\n"), "layer: a profile has at least one [[layer]]");
  contains(errors(kHead + "[layer]\nname = \"a\"\n"), "layer: an array is wanted, not a table");
  contains(errors(kHead + "layer = [1]\n"), "layer[0]: a table is wanted, not the number 1");
  contains(errors(kHead + "[[layer]]\nname = \"g\"\npart = []\n"), "layer[0].part: a group has at least one part");
  contains(errors(""), "layer: a profile has at least one [[layer]]");
}

TEST_CASE("An unknown key is an error that offers the nearest") {
  contains(errors(kHead + kLayer + "backward_flop = 3\n"), "layer[0].backward_flop: unknown key, did you mean \"backward_flops\"?");
  contains(errors(kHead + replaced(kLayer, "parameters", "paramters")), "did you mean \"parameters\"?");
  contains(errors("optimizer = 1\n" + kHead + kLayer), "mine.toml:1:1: optimizer: unknown key");
}

TEST_CASE("A group has no figures of its own") {
  const auto text =
      errors(kHead + kLayer + "part = [{ name = \"p\", parameters = 1, forward_flops = 1, forward_values = 1, kept_values = 1 }]\n");
  contains(text, "layer[0].parameters: unknown key");
}

TEST_CASE("Names are unique among neighbours and have no slashes") {
  contains(errors(kHead + kLayer + kLayer), "layer[1].name: \"a\" is the name of an earlier layer here");
  contains(errors(kHead + replaced(kLayer, "\"a\"", "\"a/b\"")), "layer[0].name: a name has neither slashes");
  contains(errors(kHead + replaced(kLayer, "\"a\"", '"' + std::string(61, 'x') + '"')), "a name has at most 60 bytes, not 61");
  contains(errors(kHead + replaced(kLayer, "\"a\"", "\"\"")), "layer[0].name: must not be empty");
}

TEST_CASE("A profile may not pass for a built-in one") {
  contains(errors(replaced(kHead, "mine", "resnet50") + kLayer), "name: \"resnet50\" is a built-in profile; give yours a name of its own");
}

TEST_CASE("A profile that costs nothing or exchanges nothing is an error") {
  contains(errors(kHead + replaced(kLayer, "= 10\n", "= 0\n")), "no layer has parameters");
  contains(errors(kHead + replaced(kLayer, "= 100", "= 0")), "no layer has forward_flops");
}

TEST_CASE("Repeats that would fill the memory are refused before they are written out") {
  const std::string leaf = "{ name = \"l\", repeat = 10000, parameters = 1, forward_flops = 1, forward_values = 1, kept_values = 1 }";
  std::string group = leaf;
  for (int i = 0; i < 2; ++i) group = "{ name = \"g\", repeat = 10000, part = [" + group + "] }";
  contains(errors(kHead + "layer = [" + group + "]\n"), "there are more than 100000 layers");
  for (int i = 0; i < 2; ++i) group = "{ name = \"g\", repeat = 10000, part = [" + group + "] }";
  contains(errors(kHead + "layer = [" + group + "]\n"), "groups are nested more than 4 deep");
  contains(errors(kHead + replaced(kLayer, "= 10\n", "= 9_000_000_000_000\n") + "repeat = 2\n"), "18000000000000 parameters in all");
}

TEST_CASE("What is no TOML is one error at its place") {
  contains(errors("name = \n"), "mine.toml:1:");
  contains(errors(std::string("name = \"a\0\"", 11)), "the file is not text");
}

TEST_CASE("Windows line ends, a byte-order mark and a missing last newline are fine") {
  std::string text = kHead + kLayer;
  for (size_t at = 0; (at = text.find('\n', at)) != std::string::npos; at += 2) text.replace(at, 1, "\r\n");
  text.resize(text.size() - 2);
  CHECK(good("\xEF\xBB\xBF" + text) == good(kHead + kLayer));
}

TEST_CASE("A built-in profile is found by its name") {
  Diagnostics diagnostics;
  const auto found = find_profile("resnet50", diagnostics);
  REQUIRE(found.ok());
  CHECK(found.value().parameters() == 25'557'032);
  CHECK(diagnostics.ok());
}

TEST_CASE("An unknown profile is an error where it was named, with the nearest and all there are") {
  Diagnostics diagnostics;
  CHECK_FALSE(find_profile("resnet5", diagnostics, {"s.toml", 8, 16}).ok());
  const auto text = diagnostics.text();
  contains(text, "s.toml:8:16: model.cost_profile: no cost profile is called \"resnet5\", did you mean \"resnet50\"?");
  contains(text, "bert_base, decoder_13b, decoder_1_3b, ppocr_v4_server_rec, resnet50, or the path of a file of your own, ending in .toml");
}

TEST_CASE("A profile of one's own is read from its path, and its errors stand at their places") {
  const TemporaryFile fine("fine.toml", kHead + kLayer);
  Diagnostics none;
  const auto found = find_profile(fine.path(), none);
  REQUIRE(found.ok());
  CHECK(found.value() == good(kHead + kLayer));

  const TemporaryFile wrong("wrong.toml", kHead + kLayer + "repeat = -2\n");
  Diagnostics diagnostics;
  CHECK_FALSE(find_profile(wrong.path(), diagnostics, {"s.toml", 8, 16}).ok());
  contains(diagnostics.text(), wrong.path() + ":11:10: layer[0].repeat: -2 is out of range");
}

TEST_CASE("A profile that cannot be read is an error where it was named") {
  Diagnostics diagnostics;
  const auto found = find_profile("/nowhere/mine.toml", diagnostics, {"s.toml", 8, 16}, "variant[1].model.cost_profile");
  CHECK_FALSE(found.ok());
  CHECK(diagnostics.text() == "s.toml:8:16: variant[1].model.cost_profile: /nowhere/mine.toml cannot be read: No such file or directory\n");
  Diagnostics directory;
  const auto folder = std::filesystem::temp_directory_path() / "xdc_profile_folder.toml";
  std::filesystem::create_directory(folder);
  CHECK_FALSE(find_profile(folder.string(), directory).ok());
  std::filesystem::remove(folder);
  contains(directory.text(), "is a directory");
}

}  // namespace
}  // namespace xdc
