// Builds a network's primitives: what every layer needs, and the order of building.
#include "core/math/network_builder.hpp"

#include <algorithm>
#include <cstring>
#include <memory>

#include "core/math/network_building.hpp"

namespace xdc {

Result<BuiltNetwork> NetworkBuilder::build() {
  net_.layers.resize(spec_.layers.size());
  sources_.resize(spec_.layers.size());
  forward_.resize(spec_.layers.size());
  build_forward();
  build_backward();
  share_scratchpad();
  if (!refused_.empty()) {
    return Error{ErrorCode::invalid, refused_};
  }
  return std::move(net_);
}

NetworkBuilder::Memory NetworkBuilder::allocate(const Memory::desc& desc) {
  Memory memory(desc, engine_);
  std::memset(memory.get_data_handle(), 0, desc.get_size());
  return memory;
}

NetworkBuilder::Memory NetworkBuilder::in_layout(const Memory& memory, const Memory::desc& desc, Calls& calls) {
  if (memory.get_desc() == desc) {
    return memory;
  }
  Memory copy = allocate(desc);
  add_reorder(memory, copy, calls);
  return copy;
}

void NetworkBuilder::add_reorder(const Memory& from, const Memory& to, Calls& calls) {
  const dnnl::reorder::primitive_desc desc(engine_, from.get_desc(), engine_, to.get_desc(), attributes());
  add_call(dnnl::reorder(desc), desc.scratchpad_desc(), {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}}, calls);
}

void NetworkBuilder::add_call(dnnl::primitive primitive, const Memory::desc& scratchpad, std::vector<std::pair<int, Memory>> arguments,
                              Calls& calls) {
  if (scratchpad.get_size() > 0) {
    net_.scratchpads.push_back(Memory(scratchpad, engine_, DNNL_MEMORY_NONE));
    arguments.emplace_back(DNNL_ARG_SCRATCHPAD, net_.scratchpads.back());
  }
  calls.emplace_back(std::move(primitive), arguments);
}

dnnl::primitive_attr NetworkBuilder::attributes(bool relu) {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  if (relu) {
    dnnl::post_ops after;
    after.append_eltwise(1.0F, dnnl::algorithm::eltwise_relu, 0.0F, 0.0F);
    attributes.set_post_ops(after);
  }
  return attributes;
}

void NetworkBuilder::share_scratchpad() {
  constexpr size_t kAlignment = 64;
  size_t most = 0;
  for (const Memory& one : net_.scratchpads) {
    most = std::max(most, one.get_desc().get_size());
  }
  net_.scratchpad.resize(most + kAlignment);
  void* start = net_.scratchpad.data();
  size_t space = net_.scratchpad.size();
  XDC_CHECK(std::align(kAlignment, most, start, space) != nullptr);
  for (const Memory& one : net_.scratchpads) {
    bind(one, start);
  }
}

Result<BuiltNetwork> build_network(const dnnl::engine& engine, const NetworkSpec& spec, int batch) {
  try {
    return NetworkBuilder(engine, spec, batch).build();
  } catch (const dnnl::error& error) {
    return Error{ErrorCode::invalid, fmt::format("oneDNN cannot compile this network for a batch of {}: {}", batch, error.what())};
  }
}

}  // namespace xdc
