// The factors of a job of several workers, as rank 0 sees them: each row is updated by the worker that owns it.
//
// A worker holds the rows that it owns, which are up to date in each matrix, and those that its chunks have, which a
// factor gets where a pass needs them. Rows that somebody loads or reads here go to their owners, or come from them, a
// block at a time. Where rank 0 holds all rows, it gets those of a factor for a pass over other cells than the
// tensor's. Rows move when they are needed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "engine/work/order_tree.hpp"
#include "engine/work/rows/own_matrices.hpp"
#include "engine/work/rows/own_numbers.hpp"
#include "engine/work/rows/row_moves.hpp"
#include "engine/work/step_order.hpp"
#include "kernels/backend.hpp"

namespace blco {

class SharedFactors final : public Factors {
 public:
  // Of rank 0; nobody has loaded any rows yet. Arguments must outlive this.
  SharedFactors(const OrderTree& tree, RowMoves& moves, Factors& own, const BackendConfig& config);

  // Brings the rows of these factors that the workers' chunks have to them; or all rows here, where all are held.
  void bring_to_chunks(ModeSet modes) const;
  void bring_here(ModeSet modes) const;
  // A pass of all workers fills these outputs, or one of this worker, to any rows of them.
  void begin_outputs(ModeSet outputs, bool continues, bool of_all);
  // Has an order carried out over the numbers of all workers; `own_part` is the same here.
  std::vector<double> take(const NumbersOrder& order, std::span<const double> given,
                           const std::function<std::vector<double>()>& own_part);
  // The same over the matrices of all workers.
  std::vector<double> take(const MatrixOrder& order, std::span<const double> given,
                           const std::function<std::vector<double>()>& own_part);

  void load_factor(int mode, std::uint64_t first_row, std::span<const double> rows) override;
  void store_factor(int mode, std::uint64_t first_row, std::span<double> rows) const override;
  void load_rows(int mode, std::span<const std::uint32_t> rows, std::span<const double> values) override;
  void store_rows(int mode, std::span<const std::uint32_t> rows, std::span<double> values) const override;
  std::uint64_t version(int mode) const override { return own_->version(mode); }
  void load_dual(int mode, std::uint64_t first_row, std::span<const double> rows) override;
  void store_dual(int mode, std::uint64_t first_row, std::span<double> rows) const override;
  void read_output(int mode, std::uint64_t first_row, std::span<double> rows) const override;
  void load_output(int mode, std::uint64_t first_row, std::span<const double> rows) override;
  void load_vector(int vector, int mode, std::uint64_t first_row, std::span<const double> rows) override;
  void store_vector(int vector, int mode, std::uint64_t first_row, std::span<double> rows) const override;
  void copy_vector(int from, int to) override;
  void copy_to_vector(int mode, int vector) override;
  void copy_from_vector(int mode, int vector) override;
  std::vector<double> take_factor(int mode) override;

  // The workers do already.
  void own(std::vector<OwnedRows>) override {}
  SolvedRows solve_rows(int mode, const RowProblem& problem) override;
  void scale_rows(int mode, std::span<const double> divisors) override;
  void restore_factor(int mode) override;
  std::span<const double> gram(int mode) override;
  std::vector<double> column_sums(int mode) override;
  void scale_columns(int mode, std::span<const double> scales, std::span<const double> shifts) override;
  void raise_to_zero(int mode) override;
  std::vector<double> extrapolate(int mode, int vector, const Extrapolation& step) override;
  AprViolation apr_measure(int mode, const AprStep& step, bool until_any) override;
  void apr_free_zeros(int mode, const AprStep& step) override;
  void apr_multiply(int mode, const AprStep& step) override;
  void cg_begin(int mode, const CgStep& step) override;
  void cg_step(int mode, const CgStep& step) override;
  double cg_end(int mode) override;
  void adam_step(int mode, const AdamStep& step) override;

 private:
  // Where rows of a factor, or of a vector, are up to date beside their owners.
  struct Copies {
    bool leader = false;    // all rows, here
    bool touchers = false;  // of each worker those that its chunks have
  };
  struct State {
    std::vector<Copies> factors;               // per mode, as are the others
    std::vector<std::vector<double>> grams;    // empty: out of date
    std::vector<std::vector<Copies>> vectors;  // of each vector
    ModeSet partial = 0;                       // outputs whose parts are not added up yet
    ModeSet of_others = 0;                     // in which the other workers have a part
    ModeSet any_rows = 0;  // of which this worker may have a part of any row, not only of those that its chunks have
  };
  int modes() const { return static_cast<int>(state_->factors.size()); }
  Copies& copies(int mode) const { return state_->factors[static_cast<std::size_t>(mode)]; }
  Copies& copies(int vector, int mode) const {
    return state_->vectors.at(static_cast<std::size_t>(vector))[static_cast<std::size_t>(mode)];
  }
  void set_factor(int mode, const Copies& copies) const;
  // The rows have been loaded at their owners, and here if all are held here.
  void set_loaded(int mode);
  void move(Move move, const MovedRows& what, const CallersRows& callers = {}) const;
  // Calls visit(first row, numbers from there on) for blocks of rows from `first_row` on.
  template <class Number, class Visit>
  void for_each_block(std::uint64_t first_row, std::span<Number> numbers, const Visit& visit) const;
  // The same for room that all rows of a mode pass through.
  template <class Visit>
  void for_each_block_of(int mode, const Visit& visit) const;
  // Moves rows from here to their owners, or from there.
  void load(MovedRows what, std::uint64_t first_row, std::span<const double> rows) const;
  void store(MovedRows what, std::uint64_t first_row, std::span<double> rows) const;
  // Adds up the parts of an output.
  void settle(int mode) const;
  template <class Order>
  std::vector<double> take(MessageKind kind, const Order& order, std::optional<Combining> combining,
                           std::span<const double> given, const std::function<std::vector<double>()>& own_part);
  // Takes a step at all workers; `own_part` is the same step here, if it is given.
  std::vector<double> take(StepOrder step, std::span<const double> first = {}, std::span<const double> second = {},
                           const std::function<std::vector<double>()>& own_part = {});
  // One that changes the rows of a factor where they are owned.
  std::vector<double> change(const StepOrder& step, std::span<const double> first = {},
                             std::span<const double> second = {});
  // What a step of CP-APR begins with.
  StepOrder begin_apr(StepKind kind, int mode, const AprStep& step);
  // One of conjugate gradients or Adam, which changes the first two vectors too.
  std::vector<double> change_with_vectors(const StepOrder& step, std::span<const double> first = {});

  const OrderTree* tree_;
  RowMoves* moves_;
  Factors* own_;
  std::vector<std::uint64_t> shape_;
  std::size_t columns_;
  std::unique_ptr<State> state_;  // which reading changes too, by moving rows
};

}  // namespace blco
