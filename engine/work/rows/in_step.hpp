// Workers that exchange rows wait for each other: one that fails to take part cannot go on with the others.
#pragma once

#include <blco/peers.hpp>
#include <new>
#include <string>

#include "blco/error.hpp"

namespace blco {

// Others may wait for this worker, which can neither carry out orders any more nor give them. Its kind is io: no other
// job of the same workers can follow.
class OutOfStep : public Error {
 public:
  explicit OutOfStep(const std::string& what) : Error(ErrorKind::io, what) {}
};

// Takes part in an exchange: what fails is thrown as OutOfStep.
template <class Part>
auto in_step(const Peers& peers, const Part& part) {
  try {
    return part();
  } catch (const Error& error) {
    throw OutOfStep(error.what());
  } catch (const std::bad_alloc&) {
    throw OutOfStep(peers.name(peers.rank()) + ": the system has no more memory");
  }
}

}  // namespace blco
