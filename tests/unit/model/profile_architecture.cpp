// Layers by their shapes, and the five architectures of the built-in profiles.
#include "tests/unit/model/profile_architecture.hpp"

#include <array>

namespace xdc::architecture {
namespace {

ProfileLayer layer(const std::string& name, int64_t parameters, double flops, double values, double kept) {
  return {name, parameters, flops, 2 * flops, values, 2 * values, kept};
}

double real(int64_t value) { return static_cast<double>(value); }

}  // namespace

ProfileLayer operator+(ProfileLayer a, const ProfileLayer& b) {
  a.parameters += b.parameters;
  a.forward_flops += b.forward_flops;
  a.backward_flops += b.backward_flops;
  a.forward_values += b.forward_values;
  a.backward_values += b.backward_values;
  a.kept_values += b.kept_values;
  return a;
}

Layers under(const std::string& group, Layers layers) {
  for (auto& l : layers) l.name = group + "/" + l.name;
  return layers;
}

void append(Layers& to, const Layers& layers) { to.insert(to.end(), layers.begin(), layers.end()); }

ProfileLayer conv(const std::string& name, Image in, Image out, ConvShape shape) {
  const int64_t reached = shape.depthwise ? 1 : in.channels;
  const int64_t per_output = reached * shape.kernel_height * shape.kernel_width;
  auto l = layer(name, out.channels * per_output, 2 * real(out.values() * per_output), real(in.values() + out.values()),
                 shape.keeps_input ? real(in.values()) : 0);
  if (!shape.input_gradient) l.backward_flops = l.forward_flops;
  return l;
}

ProfileLayer batch_norm(const std::string& name, Image image, After after) {
  const double v = real(image.values());
  double flops = 8;   // mean 1, variance 3, normalise 2, scale and shift 2
  double values = 3;  // read for the statistics, read again, written
  double kept = 1;
  if (after == After::relu || after == After::add_relu) {
    flops += 1;
    values += 2;
  }
  if (after == After::add_relu) {
    flops += 1;
    values += 3;
  }
  if (after == After::swish) {
    flops += 5;
    values += 2;
    kept += 1;  // swish cannot be undone in place
  }
  return layer(name, 2 * image.channels, flops * v, values * v, kept * v);
}

ProfileLayer move(const std::string& name, int64_t flops, int64_t values, int64_t kept) {
  return layer(name, 0, real(flops), real(values), real(kept));
}

ProfileLayer dense(const std::string& name, int64_t rows, int64_t in, int64_t out, bool bias) {
  return layer(name, in * out + (bias ? out : 0), 2 * real(rows * in * out), real(rows * (in + out)), real(rows * in));
}

ProfileLayer layer_norm(const std::string& name, int64_t rows, int64_t width) {
  const double v = real(rows * width);
  return layer(name, 2 * width, 8 * v, 3 * v, v);
}

ProfileLayer attention(const std::string& name, AttentionShape s, bool dropout) {
  const double scores = real(s.heads * s.queries * s.keys);
  const double ends = real((s.queries + s.keys) * s.width);  // query and result; key and value
  const double products = 2 * 2 * real(s.queries * s.keys * s.width);
  // Scores: written; read and written by scale and mask, and by softmax; by dropout; read.
  const double passes = 1 + 2 + 2 + (dropout ? 2 : 0) + 1;
  const double kept = 1 + (dropout ? 1.25 : 0);
  return layer(name, 0, products + (1 + 5 + (dropout ? 1 : 0)) * scores, 2 * ends + passes * scores,
               real((s.queries + 2 * s.keys) * s.width) + kept * scores);
}

ProfileLayer lean_attention(const std::string& name, int64_t rows, int64_t width, int64_t heads) {
  const double flops = 4 * real(rows * rows * width) + 6 * real(heads * rows * rows);
  auto l = layer(name, 0, flops, real(4 * rows * width + heads * rows), real(3 * rows * width + heads * rows));
  l.backward_flops = 2.5 * flops;
  return l;
}

ProfileLayer cross_entropy(const std::string& name, int64_t rows, int64_t classes) {
  return move(name, 5 * rows * classes, 3 * rows * classes, rows * classes);
}

namespace {

// One bottleneck of a ResNet; `stride` is that of its 3x3 convolution.
Layers bottleneck(Image in, int64_t middle, int64_t stride, bool shortcut) {
  const Image narrow{middle, in.height, in.width};
  const Image small{middle, in.height / stride, in.width / stride};
  const Image out{4 * middle, small.height, small.width};
  Layers l{conv("conv 1", in, narrow, {}), batch_norm("norm relu 1", narrow, After::relu), conv("conv 2", narrow, small, {3, 3}),
           batch_norm("norm relu 2", small, After::relu), conv("conv 3", small, out, {})};
  if (shortcut) {
    l.push_back(conv("shortcut conv", in, out, {.keeps_input = false}));
    l.push_back(batch_norm("shortcut norm", out, After::nothing));
  }
  l.push_back(batch_norm("norm add relu 3", out, After::add_relu));
  return l;
}

// One block of PPHGNet: six 3x3 convolutions in a row, everything concatenated, brought together by a 1x1 convolution.
Layers hg_block(Image in, int64_t middle, int64_t out_channels, bool identity) {
  const Image inner{middle, in.height, in.width};
  const Image all{in.channels + 6 * middle, in.height, in.width};
  const Image out{out_channels, in.height, in.width};
  Layers l{conv("conv 1", in, inner, {3, 3}), batch_norm("norm relu 1", inner, After::relu)};
  for (int i = 1; i <= 5; ++i) {
    append(l, under("conv #" + std::to_string(i), {conv("conv", inner, inner, {3, 3}), batch_norm("norm relu", inner, After::relu)}));
  }
  l.push_back(move("concat", 0, 2 * all.values(), 0));
  l.push_back(conv("aggregation conv", all, out, {}));
  l.push_back(batch_norm("aggregation norm relu", out, After::relu));
  auto attention = dense("ese", 1, out_channels, out_channels);
  attention.forward_values = attention.kept_values = 0;
  l.push_back(attention + move("", 2 * out.values(), 3 * out.values(), out.values()));
  auto& ese = l.back();
  ese.backward_values = 2 * ese.forward_values;
  if (identity) l.push_back(move("add", out.values(), 3 * out.values(), 0));
  return l;
}

ProfileLayer drop_add(int64_t rows, int64_t width) { return move("dropout add", 2 * rows * width, 5 * rows * width, rows * width / 4); }

Layers svtr_neck(int64_t positions) {
  constexpr int64_t kWidth = 120, kIn = 1024;
  const auto row = [&](int64_t channels) { return Image{channels, 1, positions}; };
  Layers l = under("ctc neck reduce", {conv("conv 1", row(kIn), row(128), {.kernel_width = 3, .input_gradient = false}),
                                       batch_norm("norm swish 1", row(128), After::swish), conv("conv 2", row(128), row(kWidth), {}),
                                       batch_norm("norm swish 2", row(kWidth), After::swish)});
  const auto norm = layer_norm("", positions, kWidth);
  const auto mixer = ProfileLayer{"attention"} + norm + dense("", positions, kWidth, 3 * kWidth) +
                     attention("", {positions, positions, kWidth, 8}, true) + dense("", positions, kWidth, kWidth) +
                     drop_add(positions, kWidth);
  const int64_t wide = 2 * kWidth;
  const auto mlp = ProfileLayer{"mlp"} + norm + dense("", positions, kWidth, wide) +
                   move("swish", 5 * positions * wide, 2 * positions * wide, positions * wide) +
                   move("dropout", positions * wide, 2 * positions * wide, positions * wide / 4) + dense("", positions, wide, kWidth) +
                   drop_add(positions, kWidth);
  for (int i = 1; i <= 2; ++i) append(l, under("ctc neck block #" + std::to_string(i), {mixer, mlp}));
  append(l, under("ctc neck expand",
                  {layer_norm("norm", positions, kWidth), conv("conv 3", row(kWidth), row(kIn), {}),
                   batch_norm("norm swish 3", row(kIn), After::swish), move("concat", 0, 2 * 2 * kIn * positions, 0),
                   conv("conv 4", row(2 * kIn), row(128), {.kernel_width = 3}), batch_norm("norm swish 4", row(128), After::swish),
                   conv("conv 1x1", row(128), row(kWidth), {}), batch_norm("norm swish 5", row(kWidth), After::swish)}));
  append(l, under("ctc head", {dense("fc", positions, kWidth, 6625), cross_entropy("loss", positions, 6625)}));
  return l;
}

Layers nrtr(int64_t memory) {
  constexpr int64_t kWidth = 384, kClasses = 6625 + 3 + 1, kText = 24, kHeads = 12;
  auto input = dense("nrtr input", memory, 1024, kWidth, false);
  input.kept_values += real(memory * kWidth);  // what every layer's keys and values are made of
  // Look-up and its scale, positions added, dropout.
  auto embedding = move("nrtr embedding", 2 * kText * kWidth, 7 * kText * kWidth, kText * kWidth / 4);
  embedding.parameters = kClasses * kWidth;
  Layers l{input, embedding};
  const auto norm = layer_norm("", kText, kWidth);
  const auto out = dense("", kText, kWidth, kWidth) + drop_add(kText, kWidth) + norm;
  const auto self =
      ProfileLayer{"self attention"} + dense("", kText, kWidth, 3 * kWidth) + attention("", {kText, kText, kWidth, kHeads}, false) + out;
  auto keys = dense("", memory, kWidth, 2 * kWidth);
  keys.kept_values = 0;
  const auto cross = ProfileLayer{"cross attention"} + dense("", kText, kWidth, kWidth) + keys +
                     attention("", {kText, memory, kWidth, kHeads}, false) + out;
  const int64_t wide = 4 * kWidth;
  const auto mlp = ProfileLayer{"mlp"} + dense("", kText, kWidth, wide) + move("relu", kText * wide, 2 * kText * wide, 0) +
                   move("dropout", kText * wide, 2 * kText * wide, kText * wide / 4) + dense("", kText, wide, kWidth) +
                   drop_add(kText, kWidth) + norm;
  for (int i = 1; i <= 4; ++i) append(l, under("nrtr decoder #" + std::to_string(i), {self, cross, mlp}));
  append(l, under("nrtr head", {dense("projection", kText, kWidth, kClasses, false), cross_entropy("loss", kText, kClasses)}));
  return l;
}

}  // namespace

Layers resnet50() {
  const Image image{3, 224, 224}, stem{64, 112, 112}, pooled{64, 56, 56};
  Layers l = under("stem", {conv("conv", image, stem, {.kernel_height = 7, .kernel_width = 7, .input_gradient = false}),
                            batch_norm("norm relu", stem, After::relu),
                            move("max pool", 9 * pooled.values(), stem.values() + pooled.values(), stem.values())});
  Image in = pooled;
  struct Stage {
    int64_t middle, blocks, stride;
  };
  const std::array<Stage, 4> stages{{{64, 3, 1}, {128, 4, 2}, {256, 6, 2}, {512, 3, 2}}};
  for (size_t s = 0; s < stages.size(); ++s) {
    const auto name = "conv" + std::to_string(s + 2) + "_x";
    append(l, under(name + " first", bottleneck(in, stages[s].middle, stages[s].stride, true)));
    in = {4 * stages[s].middle, in.height / stages[s].stride, in.width / stages[s].stride};
    for (int64_t b = 1; b < stages[s].blocks; ++b)
      append(l, under(name + " #" + std::to_string(b), bottleneck(in, stages[s].middle, 1, false)));
  }
  l.push_back(move("average pool", in.values(), in.values() + in.channels, 0));
  l.push_back(dense("fc", 1, in.channels, 1000));
  return l;
}

Layers ppocr_v4_server_rec() {
  const Image line{3, 48, 320}, narrow{64, 24, 160}, stem{128, 24, 160};
  Layers l = under("stem", {conv("conv 1", line, narrow, {.kernel_height = 3, .kernel_width = 3, .input_gradient = false}),
                            batch_norm("norm relu 1", narrow, After::relu), conv("conv 2", narrow, narrow, {3, 3}),
                            batch_norm("norm relu 2", narrow, After::relu), conv("conv 3", narrow, stem, {3, 3}),
                            batch_norm("norm relu 3", stem, After::relu)});
  struct Stage {
    int64_t middle, out, blocks, down, across;
  };
  const std::array<Stage, 4> stages{{{128, 256, 1, 2, 1}, {160, 512, 1, 1, 2}, {192, 768, 2, 2, 1}, {224, 1024, 1, 2, 1}}};
  Image in = stem;
  for (size_t s = 0; s < stages.size(); ++s) {
    const auto& stage = stages[s];
    const auto name = "stage " + std::to_string(s + 1);
    const Image small{in.channels, in.height / stage.down, in.width / stage.across};
    append(l, under(name + " downsample", {conv("depthwise conv", in, small, {3, 3, true}), batch_norm("norm", small, After::nothing)}));
    in = small;
    for (int64_t b = 1; b <= stage.blocks; ++b) {
      append(l, under(name + " block " + std::to_string(b), hg_block(in, stage.middle, stage.out, b > 1)));
      in.channels = stage.out;
    }
  }
  constexpr int64_t kPositions = 40;
  l.push_back(move("pool", in.values(), in.values() + in.channels * kPositions, 0));
  append(l, svtr_neck(kPositions));
  append(l, nrtr(kPositions));
  return l;
}

Layers bert_base() {
  constexpr int64_t kRows = 512, kWidth = 768, kHeads = 12, kWide = 3072;
  constexpr int64_t kValues = kRows * kWidth;
  auto embeddings = move("embeddings", 11 * kValues, 17 * kValues, kValues + kValues / 4);
  embeddings.parameters = (30522 + 512 + 2) * kWidth + 2 * kWidth;
  Layers l{embeddings};
  for (int i = 1; i <= 12; ++i) {
    auto first = drop_add(kRows, kWidth), second = first;
    first.name = "dropout add 1";
    second.name = "dropout add 2";
    append(l, under("layer #" + std::to_string(i),
                    {dense("qkv", kRows, kWidth, 3 * kWidth), attention("attention", {kRows, kRows, kWidth, kHeads}, true),
                     dense("projection", kRows, kWidth, kWidth), first, layer_norm("norm 1", kRows, kWidth),
                     dense("mlp up", kRows, kWidth, kWide), move("gelu", 8 * kRows * kWide, 2 * kRows * kWide, kRows * kWide),
                     dense("mlp down", kRows, kWide, kWidth), second, layer_norm("norm 2", kRows, kWidth)}));
  }
  l.push_back(dense("pooler", 1, kWidth, kWidth) + move("tanh", 8 * kWidth, 2 * kWidth, kWidth));
  return l;
}

Layers decoder(DecoderShape s) {
  constexpr int64_t kRows = 2048, kTokens = 50257;
  const int64_t values = kRows * s.width, wide = 4 * s.width;
  auto embeddings = move("embeddings", values, 7 * values, 0);
  embeddings.parameters = (kTokens + kRows) * s.width;
  Layers l{embeddings};
  for (int64_t i = 1; i <= s.layers; ++i) {
    append(l, under("layer #" + std::to_string(i),
                    {layer_norm("norm 1", kRows, s.width), dense("qkv", kRows, s.width, 3 * s.width),
                     lean_attention("attention", kRows, s.width, s.heads), dense("projection", kRows, s.width, s.width),
                     move("add 1", values, 3 * values, 0), layer_norm("norm 2", kRows, s.width), dense("mlp up", kRows, s.width, wide),
                     move("gelu", 8 * kRows * wide, 2 * kRows * wide, kRows * wide), dense("mlp down", kRows, wide, s.width),
                     move("add 2", values, 3 * values, 0)}));
  }
  l.push_back(layer_norm("final norm", kRows, s.width));
  auto head = dense("head", kRows, s.width, kTokens, false);
  head.parameters = 0;  // the embedding's
  l.push_back(head);
  l.push_back(cross_entropy("loss", kRows, kTokens));
  return l;
}

}  // namespace xdc::architecture
