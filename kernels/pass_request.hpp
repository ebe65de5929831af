// What a pass over the chunks computes: an MTTKRP, or a loss and its gradients.
#pragma once

#include <bit>
#include <cstdint>
#include <limits>
#include <optional>

#include "blco/host_device.hpp"
#include "blco/loss.hpp"
#include "kernels/losses.hpp"

namespace blco {

// Modes of a tensor: bit n stands for mode n.
using ModeSet = std::uint32_t;
constexpr ModeSet mode_bit(int mode) { return ModeSet{1} << mode; }
constexpr ModeSet all_modes(int order) { return (ModeSet{1} << order) - 1; }
BLCO_HOST_DEVICE constexpr bool has_mode(ModeSet modes, int mode) { return (modes >> mode & 1) != 0; }

// What a loss pass makes of a nonzero: a term that it adds up, and the weight of the nonzero's rows.
enum class EntryRule {
  given,        // f(x, m) and df/dm: absent cells are unknown
  beyond_zero,  // f(x, m) - f(0, m) and its derivative: absent cells are zeros, whose own terms are added elsewhere
  zero,         // x f(0, m) and its derivative: a sampled cell, taken for x zeros
  ratio,        // x log(max(m, floor)) and x / max(m, floor): multiplicative updates (Chi & Kolda 2012, equation 4.2)
  model,        // m and m: products with the normal equations of the entries, for conjugate gradients
};

struct EntryFunction {
  EntryRule rule = EntryRule::given;
  Loss loss = {};    // of the first three rules
  double scale = 1;  // multiplies terms and weights
  double floor = 0;  // ratio only
};

struct EntryTerm {
  double term;
  double weight;
};

// The rules as functions (x, m) -> term and weight, unscaled.
namespace rules {

template <class LossFunction>
struct Given {
  LossFunction loss;
  template <class T>
  BLCO_HOST_DEVICE void operator()(T x, T m, T& term, T& weight) const {
    term = loss.value(x, m);
    weight = loss.derivative(x, m);
  }
};

template <class LossFunction>
struct BeyondZero {
  LossFunction loss;
  template <class T>
  BLCO_HOST_DEVICE void operator()(T x, T m, T& term, T& weight) const {
    term = loss.beyond_zero(x, m);
    weight = loss.slope_beyond_zero(x, m);
  }
};

template <class LossFunction>
struct Zero {
  LossFunction loss;
  template <class T>
  BLCO_HOST_DEVICE void operator()(T x, T m, T& term, T& weight) const {
    term = x * loss.value(T(0), m);
    weight = x * loss.derivative(T(0), m);
  }
};

struct Ratio {
  double floor;
  template <class T>
  BLCO_HOST_DEVICE void operator()(T x, T m, T& term, T& weight) const {
    using losses::greater;
    using std::log;
    const T held = greater(m, T(floor));
    term = x * log(held);
    weight = x / held;
  }
};

struct Model {
  template <class T>
  BLCO_HOST_DEVICE void operator()(T, T m, T& term, T& weight) const {
    term = m;
    weight = m;
  }
};

}  // namespace rules

// Calls visit(the rule's function).
BLCO_DEVICE_VISITS
template <class Visit>
BLCO_HOST_DEVICE auto with_rule(const EntryFunction& function, const Visit& visit) {
  if (function.rule == EntryRule::ratio) return visit(rules::Ratio{function.floor});
  if (function.rule == EntryRule::model) return visit(rules::Model{});
  return with_loss(function.loss, [&](const auto& loss) {
    using Of = std::remove_cvref_t<decltype(loss)>;
    if (function.rule == EntryRule::beyond_zero) return visit(rules::BeyondZero<Of>{loss});
    if (function.rule == EntryRule::zero) return visit(rules::Zero<Of>{loss});
    return visit(rules::Given<Of>{loss});
  });
}

// Of the other modes' rows a_m, of R or of R_m numbers: entry by entry (MTTKRP), or all products of one number of each,
// that of the last mode varying fastest (TTMc: Kaya & Ucar, High Performance Parallel Algorithms for the Tucker
// Decomposition of Sparse Tensors, ICPP 2016, section 2).
enum class Product { hadamard, kronecker };

// A pass fills the outputs of some modes: an MTTKRP or a TTMc one, a loss pass any number, none included.
struct PassRequest {
  // The MTTKRP of one mode.
  PassRequest(int mode) : outputs(mode_bit(mode)) {}  // NOLINT(google-explicit-constructor)
  // output_n = sum over nonzeros of value * (the other modes' rows, combined by `of_rows`). Kronecker products need
  // BackendConfig::columns, with which CPU and CUDA have no other passes.
  PassRequest(int mode, Product of_rows) : outputs(mode_bit(mode)), product(of_rows) {}
  // output_n = sum over nonzeros of weight * prod_{m != n} A_m[i_m], for each mode of `outputs`; and the terms' sum.
  PassRequest(const EntryFunction& at_nonzeros, ModeSet modes) : outputs(modes), function(at_nonzeros) {}

  // An MTTKRP or a TTMc, no loss pass.
  bool is_mttkrp() const { return !function.has_value(); }
  // The only mode of `outputs`, or -1.
  int only_mode() const { return std::has_single_bit(outputs) ? std::countr_zero(outputs) : -1; }

  ModeSet outputs = 0;
  Product product = Product::hadamard;
  std::optional<EntryFunction> function = {};  // none: an MTTKRP
  // Adds to what the pass before has left in the same outputs, and to its terms' sum. Loss passes only.
  bool continues = false;
  // Of Passes::slabs().
  int slab = 0;
};

}  // namespace blco
