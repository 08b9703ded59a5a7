// What must a layer cost? Figures worked out from shapes alone, by the rules that core/model/README.md states, apart from the files
// that they are held against.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/model/profile.hpp"

namespace xdc::architecture {

using Layers = std::vector<ProfileLayer>;

// Adds up two layers; the first one's name stays.
ProfileLayer operator+(ProfileLayer a, const ProfileLayer& b);
// The layers of a group, under its name.
Layers under(const std::string& group, Layers layers);
void append(Layers& to, const Layers& layers);

struct Image {
  int64_t channels = 0, height = 0, width = 0;
  int64_t values() const { return channels * height * width; }
};

struct ConvShape {
  int64_t kernel_height = 1, kernel_width = 1;
  bool depthwise = false;
  bool input_gradient = true;
  bool keeps_input = true;
};

ProfileLayer conv(const std::string& name, Image in, Image out, ConvShape shape);
enum class After { nothing, relu, add_relu, swish };
ProfileLayer batch_norm(const std::string& name, Image image, After after);
// No operations: moves or combines values.
ProfileLayer move(const std::string& name, int64_t flops, int64_t values, int64_t kept);

ProfileLayer dense(const std::string& name, int64_t rows, int64_t in, int64_t out, bool bias = true);
ProfileLayer layer_norm(const std::string& name, int64_t rows, int64_t width);
struct AttentionShape {
  int64_t queries = 0, keys = 0, width = 0, heads = 0;
};
// Scores are written to memory; with dropout or without.
ProfileLayer attention(const std::string& name, AttentionShape shape, bool dropout);
// Scores never leave the chip.
ProfileLayer lean_attention(const std::string& name, int64_t rows, int64_t width, int64_t heads);
ProfileLayer cross_entropy(const std::string& name, int64_t rows, int64_t classes);

Layers resnet50();
Layers ppocr_v4_server_rec();
Layers bert_base();
struct DecoderShape {
  int64_t layers = 0, width = 0, heads = 0;
};
Layers decoder(DecoderShape shape);

}  // namespace xdc::architecture
