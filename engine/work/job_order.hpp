// What rank 0 tells its peers of a job: the order `begin`.
#pragma once

#include <blco/tensor.hpp>

#include "engine/work/make_plan.hpp"
#include "engine/work/peer_messages.hpp"

namespace blco {

Message begin_order(const Tensor& tensor, const JobNeeds& needs);

// What a worker needs for that job. Throws Error{invalid_argument} unless `tensor` is that of rank 0, and both are of
// one version.
JobNeeds needs_of(ReceivedMessage& begin, const Tensor& tensor);
// The same for a peer in this process.
JobNeeds needs_of_peer(const Tensor& tensor, const JobNeeds& needs);

}  // namespace blco
