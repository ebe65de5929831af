#include "engine/work/job_order.hpp"

#include <array>
#include <blco/version.hpp>
#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>

#include "blco/refuse.hpp"
#include "engine/tensor/tensor_chunks.hpp"
#include "engine/work/job_plan.hpp"
#include "engine/work/rows/chunk_share.hpp"

namespace blco {
namespace {

// Of a tensor, and of the build.
struct Identity {
  std::array<char, 16> version{};
  std::uint64_t nnz = 0;
  double sum_of_squares = 0;
  std::uint32_t chunks_crc = 0;
};

Identity identity_of(const Tensor& tensor) {
  Identity identity{.nnz = tensor.summary().nnz,
                    .sum_of_squares = tensor.summary().sum_of_squares,
                    .chunks_crc = crc_of_chunks(TensorChunks::of(tensor))};
  std::strncpy(identity.version.data(), version_string, identity.version.size() - 1);
  return identity;
}

// Calls visit(field) for what all workers need alike, but vectors.
template <class Needs, class Visit>
void for_each_told(Needs& needs, const Visit& visit) {
  visit(needs.backend.rank);
  visit(needs.backend.precision);
  visit(needs.backend.all_outputs);
  visit(needs.backend.loss_passes);
  visit(needs.backend.dual_modes);
  visit(needs.lbfgs);
  visit(needs.matrices.slab);
  visit(needs.matrices.undoes);
  visit(needs.want_previous);
  visit(needs.deterministic);
  visit(needs.draws);
  visit(needs.value_exponent);
  visit(needs.best_tier);
}

void check_same(const Identity& theirs, const Tensor& tensor) {
  if (const std::string version = theirs.version.data(); version != version_string) {
    refuse("process 0 is of blco " + version + ", but this process is of " + version_string);
  }
  const Identity here = identity_of(tensor);
  if (here.nnz != theirs.nnz || here.sum_of_squares != theirs.sum_of_squares || here.chunks_crc != theirs.chunks_crc) {
    refuse("the tensor here is another one than that of process 0: give a file that all processes see");
  }
}

}  // namespace

Message begin_order(const Tensor& tensor, const JobNeeds& needs) {
  Message message(MessageKind::begin);
  message.put(identity_of(tensor));
  for_each_told(needs, [&](const auto& field) { message.put(field); });
  message.put(needs.backend.vectors.size());
  for (const VectorShape& vector : needs.backend.vectors) message.put(vector.rows).put(vector.has_all_modes);
  for (const auto* of_modes : {&needs.matrices.columns, &needs.matrices.unfolding}) {
    message.put(of_modes->size()).put(std::span(*of_modes));
  }
  return message;
}

JobNeeds needs_of(ReceivedMessage& begin, const Tensor& tensor) {
  check_same(begin.take<Identity>(), tensor);
  JobNeeds needs = needs_of(tensor, 1, Precision::f64);
  needs.caller = {};
  needs.model_bytes = 0;
  needs.may_slab = true;
  for_each_told(needs, [&](auto& field) { field = begin.take<std::remove_reference_t<decltype(field)>>(); });
  needs.share_of_rank_1 = 1.0 / needs.backend.rank;
  needs.backend.vectors.resize(begin.take<std::size_t>());
  for (VectorShape& vector : needs.backend.vectors) {
    vector.rows = begin.take<std::uint64_t>();
    vector.has_all_modes = begin.take<bool>();
  }
  for (auto* of_modes : {&needs.matrices.columns, &needs.matrices.unfolding}) {
    of_modes->resize(begin.take<std::size_t>());
    for (std::uint64_t& of_mode : *of_modes) of_mode = begin.take<std::uint64_t>();
  }
  return needs;
}

JobNeeds needs_of_peer(const Tensor& tensor, const JobNeeds& needs) {
  Message begin = begin_order(tensor, needs);
  ReceivedMessage received({begin.bytes().begin(), begin.bytes().end()});
  return needs_of(received, tensor);
}

}  // namespace blco
