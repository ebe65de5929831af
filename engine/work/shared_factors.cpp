#include "engine/work/shared_factors.hpp"

#include <algorithm>
#include <utility>

#include "blco/refuse.hpp"

namespace blco {
namespace {

using Matrix = MovedRows::Matrix;

MovedRows factor_of(int mode) { return {.matrix = Matrix::factor, .mode = mode}; }
MovedRows output_of(int mode) { return {.matrix = Matrix::output, .mode = mode}; }
MovedRows dual_of(int mode) { return {.matrix = Matrix::dual, .mode = mode}; }
MovedRows vector_of(int vector, int mode) { return {.matrix = Matrix::vector, .mode = mode, .vector = vector}; }

StepOrder order_of(StepKind kind, int mode, const CgStep& step) {
  return {.kind = kind, .mode = mode, .flag = step.nonnegative, .values = {step.ridge, step.least_cosine, step.solved}};
}

}  // namespace

SharedFactors::SharedFactors(const OrderTree& tree, RowMoves& moves, Factors& own, const BackendConfig& config)
    : tree_(&tree),
      moves_(&moves),
      own_(&own),
      columns_(static_cast<std::size_t>(config.rank)),
      state_(std::make_unique<State>()) {
  for (int mode = 0; mode < config.layout.order(); ++mode) shape_.push_back(config.layout.mode(mode).length);
  state_->factors.resize(shape_.size(), {.leader = true, .touchers = true});
  state_->grams.resize(shape_.size());
  state_->vectors.resize(config.vectors.size(), std::vector<Copies>(shape_.size()));
}

void SharedFactors::set_factor(int mode, const Copies& copies) const {
  this->copies(mode) = copies;
  state_->grams[static_cast<std::size_t>(mode)].clear();
}

void SharedFactors::set_loaded(int mode) {
  set_factor(mode, {.leader = copies(mode).leader && moves_->holds_all(mode)});
}

void SharedFactors::move(Move move, const MovedRows& what, const CallersRows& callers) const {
  Message message(MessageKind::move);
  message.put(move).put(what).put(callers.listed);
  const auto own_part = [&] {
    moves_->make(move, what, *own_, callers);
    return std::vector<double>();
  };
  if (is_of_caller(move)) {
    tree_->order(message, Combining::sums, own_part);
  } else {
    tree_->post(message, own_part);
  }
}

template <class Number, class Visit>
void SharedFactors::for_each_block(std::uint64_t first_row, std::span<Number> numbers, const Visit& visit) const {
  const std::size_t step = static_cast<std::size_t>(moves_->rows_at_once()) * columns_;
  for (std::size_t first = 0; first < numbers.size(); first += step) {
    visit(first_row + first / columns_, numbers.subspan(first, std::min(step, numbers.size() - first)));
  }
}

template <class Visit>
void SharedFactors::for_each_block_of(int mode, const Visit& visit) const {
  const std::uint64_t length = shape_[static_cast<std::size_t>(mode)];
  const std::uint64_t step = moves_->rows_at_once();
  std::vector<double> block;
  for (std::uint64_t first = 0; first < length; first += step) {
    block.resize(static_cast<std::size_t>(std::min(step, length - first)) * columns_);
    visit(first, std::span(block));
  }
}

void SharedFactors::load(MovedRows what, std::uint64_t first_row, std::span<const double> rows) const {
  for_each_block(first_row, rows, [&](std::uint64_t first, std::span<const double> block) {
    what.rows = {first, first + block.size() / columns_};
    move(Move::to_owners, what, {.to_owners = block});
  });
}

void SharedFactors::store(MovedRows what, std::uint64_t first_row, std::span<double> rows) const {
  for_each_block(first_row, rows, [&](std::uint64_t first, std::span<double> block) {
    what.rows = {first, first + block.size() / columns_};
    move(Move::to_caller, what, {.to_caller = block});
  });
}

void SharedFactors::bring_to_chunks(ModeSet modes) const {
  for (int mode = 0; mode < this->modes(); ++mode) {
    if (!has_mode(modes, mode) || copies(mode).touchers) continue;
    move(Move::to_touchers, factor_of(mode));
    copies(mode).touchers = true;
    if (moves_->has_all(mode)) copies(mode).leader = true;
  }
}

void SharedFactors::bring_here(ModeSet modes) const {
  for (int mode = 0; mode < this->modes(); ++mode) {
    if (!has_mode(modes, mode) || copies(mode).leader) continue;
    for_each_block_of(mode, [&](std::uint64_t first, std::span<double> block) {
      store(factor_of(mode), first, block);
      own_->load_factor(mode, first, block);
    });
    copies(mode).leader = true;
  }
}

void SharedFactors::begin_outputs(ModeSet outputs, bool continues, bool of_all) {
  if (!continues) {
    state_->of_others = 0;
    state_->any_rows = 0;
  } else if ((state_->partial & outputs) != outputs) {
    refuse("a pass continues outputs that have been added up");
  }
  state_->partial = outputs;
  (of_all ? state_->of_others : state_->any_rows) |= outputs;
}

void SharedFactors::settle(int mode) const {
  if (!has_mode(state_->partial, mode)) return;
  state_->partial &= ~mode_bit(mode);
  if (has_mode(state_->of_others, mode)) {
    return move(has_mode(state_->any_rows, mode) ? Move::sum_all : Move::sum, output_of(mode));
  }
  for_each_block_of(mode, [&](std::uint64_t first, std::span<double> block) {
    own_->read_output(mode, first, block);
    load(output_of(mode), first, block);
  });
}

void SharedFactors::load_factor(int mode, std::uint64_t first_row, std::span<const double> rows) {
  load(factor_of(mode), first_row, rows);
  if (moves_->holds_all(mode)) own_->load_factor(mode, first_row, rows);
  set_loaded(mode);
}

void SharedFactors::store_factor(int mode, std::uint64_t first_row, std::span<double> rows) const {
  if (copies(mode).leader && moves_->holds_all(mode)) return own_->store_factor(mode, first_row, rows);
  store(factor_of(mode), first_row, rows);
}

void SharedFactors::load_rows(int mode, std::span<const std::uint32_t> rows, std::span<const double> values) {
  for_each_block(0, values, [&](std::uint64_t first, std::span<const double> block) {
    const auto listed = rows.subspan(static_cast<std::size_t>(first), block.size() / columns_);
    move(Move::to_owners, factor_of(mode), {.listed = listed, .to_owners = block});
  });
  if (moves_->holds_all(mode)) own_->load_rows(mode, rows, values);
  set_loaded(mode);
}

void SharedFactors::store_rows(int mode, std::span<const std::uint32_t> rows, std::span<double> values) const {
  if (copies(mode).leader && moves_->holds_all(mode)) return own_->store_rows(mode, rows, values);
  for_each_block(0, values, [&](std::uint64_t first, std::span<double> block) {
    const auto listed = rows.subspan(static_cast<std::size_t>(first), block.size() / columns_);
    move(Move::to_caller, factor_of(mode), {.listed = listed, .to_caller = block});
  });
}

void SharedFactors::load_dual(int mode, std::uint64_t first_row, std::span<const double> rows) {
  load(dual_of(mode), first_row, rows);
}

void SharedFactors::store_dual(int mode, std::uint64_t first_row, std::span<double> rows) const {
  store(dual_of(mode), first_row, rows);
}

void SharedFactors::read_output(int mode, std::uint64_t first_row, std::span<double> rows) const {
  settle(mode);
  store(output_of(mode), first_row, rows);
}

void SharedFactors::load_output(int mode, std::uint64_t first_row, std::span<const double> rows) {
  settle(mode);
  load(output_of(mode), first_row, rows);
}

void SharedFactors::load_vector(int vector, int mode, std::uint64_t first_row, std::span<const double> rows) {
  load(vector_of(vector, mode), first_row, rows);
  copies(vector, mode) = {};
}

void SharedFactors::store_vector(int vector, int mode, std::uint64_t first_row, std::span<double> rows) const {
  store(vector_of(vector, mode), first_row, rows);
}

std::vector<double> SharedFactors::take_factor(int mode) {
  if (moves_->holds_all(mode)) {
    bring_here(mode_bit(mode));
    return own_->take_factor(mode);
  }
  std::vector<double> rows(static_cast<std::size_t>(shape_[static_cast<std::size_t>(mode)]) * columns_);
  store(factor_of(mode), 0, rows);
  return rows;
}

template <class Order>
std::vector<double> SharedFactors::take(MessageKind kind, const Order& order, std::optional<Combining> combining,
                                        std::span<const double> given,
                                        const std::function<std::vector<double>()>& own_part) {
  Message message(kind);
  message.put(order).put(given);
  if (combining) return tree_->order(message, *combining, own_part);
  tree_->post(message, own_part);
  return {};
}

std::vector<double> SharedFactors::take(StepOrder step, std::span<const double> first, std::span<const double> second,
                                        const std::function<std::vector<double>()>& own_part) {
  step.first_numbers = first.size();
  std::vector<double> numbers(first.begin(), first.end());
  numbers.insert(numbers.end(), second.begin(), second.end());
  return take(MessageKind::step, step, combining_of(step.kind), numbers,
              [&] { return own_part ? own_part() : take_step(*own_, step, numbers); });
}

std::vector<double> SharedFactors::take(const NumbersOrder& order, std::span<const double> given,
                                        const std::function<std::vector<double>()>& own_part) {
  const auto for_each = [&](const auto& visit) {
    for (int mode = 0; mode < modes(); ++mode) {
      if (has_mode(order.modes, mode)) visit(mode);
    }
  };
  if (order.kind == NumbersKind::read_gradient) for_each([&](int mode) { settle(mode); });
  std::vector<double> numbers = take(MessageKind::numbers, order, combining_of(order), given, own_part);
  if (order.kind == NumbersKind::write_factors) for_each([&](int mode) { set_factor(mode, {}); });
  return numbers;
}

std::vector<double> SharedFactors::take(const MatrixOrder& order, std::span<const double> given,
                                        const std::function<std::vector<double>()>& own_part) {
  if (needs_output(order.step)) settle(order.mode);
  std::vector<double> numbers = take(MessageKind::matrices, order, combining_of(order.step), given, own_part);
  if (order.step == MatrixStep::load_factor) set_factor(order.mode, {});
  return numbers;
}

std::vector<double> SharedFactors::change(const StepOrder& step, std::span<const double> first,
                                          std::span<const double> second) {
  std::vector<double> numbers = take(step, first, second);
  set_factor(step.mode, {});
  return numbers;
}

std::vector<double> SharedFactors::change_with_vectors(const StepOrder& step, std::span<const double> first) {
  settle(step.mode);
  for (const int vector : {0, 1}) copies(vector, step.mode) = {};
  return change(step, first);
}

// Their rows lie where they lay.
void SharedFactors::copy_vector(int from, int to) {
  take({.kind = StepKind::copy_vector, .vector = from, .to_vector = to});
  for (int mode = 0; mode < modes(); ++mode) copies(to, mode) = copies(from, mode);
}

void SharedFactors::copy_to_vector(int mode, int vector) {
  take({.kind = StepKind::copy_to_vector, .mode = mode, .vector = vector});
  copies(vector, mode) = copies(mode);
}

void SharedFactors::copy_from_vector(int mode, int vector) {
  take({.kind = StepKind::copy_from_vector, .mode = mode, .vector = vector});
  set_factor(mode, copies(vector, mode));
}

SolvedRows SharedFactors::solve_rows(int mode, const RowProblem& problem) {
  settle(mode);
  StepOrder step{.kind = StepKind::solve_rows, .mode = mode, .columns = problem.solver->rank()};
  step.constraint = problem.constraint;
  step.values = {problem.rho, problem.solver->cutoff()};
  SolvedRows solved{.squares = take(step, problem.system, problem.weights, [&] {
                      SolvedRows own = own_->solve_rows(mode, problem);
                      own.squares.push_back(own.inner);
                      return own.squares;
                    })};
  set_factor(mode, {});
  solved.inner = solved.squares.back();
  solved.squares.pop_back();
  return solved;
}

void SharedFactors::scale_rows(int mode, std::span<const double> divisors) {
  std::vector<double> gram = change({.kind = StepKind::scale_rows, .mode = mode}, divisors);
  state_->grams[static_cast<std::size_t>(mode)] = std::move(gram);
}

// What an update that was cancelled has left is of no use to the owners.
void SharedFactors::restore_factor(int mode) {
  take({.kind = StepKind::restore_factor, .mode = mode});
  set_factor(mode, {});
}

std::span<const double> SharedFactors::gram(int mode) {
  std::vector<double>& gram = state_->grams[static_cast<std::size_t>(mode)];
  if (gram.empty()) gram = take({.kind = StepKind::gram, .mode = mode});
  return gram;
}

std::vector<double> SharedFactors::column_sums(int mode) { return take({.kind = StepKind::column_sums, .mode = mode}); }

// Every worker scales all of its rows, so that those that are up to date stay so.
void SharedFactors::scale_columns(int mode, std::span<const double> scales, std::span<const double> shifts) {
  const Copies before = copies(mode);
  take({.kind = StepKind::scale_columns, .mode = mode}, scales, shifts);
  set_factor(mode, before);
}

void SharedFactors::raise_to_zero(int mode) {
  const Copies before = copies(mode);
  take({.kind = StepKind::raise_to_zero, .mode = mode});
  set_factor(mode, before);
}

std::vector<double> SharedFactors::extrapolate(int mode, int vector, const Extrapolation& step) {
  // All rows change alike: those that are up to date in both stay so.
  const Copies before = copies(mode);
  Copies& of_vector = copies(vector, mode);
  const Copies both{.leader = before.leader && of_vector.leader, .touchers = before.touchers && of_vector.touchers};
  const StepOrder order{.kind = StepKind::extrapolate, .mode = mode, .vector = vector, .flag = step.nonnegative};
  std::vector<double> squares = take(order, step.of_factor, step.of_vector);
  of_vector = before;
  set_factor(mode, both);
  return squares;
}

StepOrder SharedFactors::begin_apr(StepKind kind, int mode, const AprStep& step) {
  settle(mode);
  return {.kind = kind, .mode = mode, .values = {step.kappa, step.kappa_tolerance, step.tolerance}};
}

AprViolation SharedFactors::apr_measure(int mode, const AprStep& step, bool until_any) {
  StepOrder order = begin_apr(StepKind::apr_measure, mode, step);
  order.flag = until_any;
  const std::vector<double> found = take(order, step.weights, step.held_sums);
  return {.largest = found[0], .has_stuck_zeros = found[1] != 0};
}

void SharedFactors::apr_free_zeros(int mode, const AprStep& step) {
  change(begin_apr(StepKind::apr_free_zeros, mode, step), step.weights, step.held_sums);
}

void SharedFactors::apr_multiply(int mode, const AprStep& step) {
  change(begin_apr(StepKind::apr_multiply, mode, step), step.weights, step.held_sums);
}

void SharedFactors::cg_begin(int mode, const CgStep& step) {
  change_with_vectors(order_of(StepKind::cg_begin, mode, step), step.centre);
}

void SharedFactors::cg_step(int mode, const CgStep& step) {
  change_with_vectors(order_of(StepKind::cg_step, mode, step), step.centre);
}

double SharedFactors::cg_end(int mode) { return change({.kind = StepKind::cg_end, .mode = mode})[0]; }

void SharedFactors::adam_step(int mode, const AdamStep& step) {
  StepOrder order{.kind = StepKind::adam_step, .mode = mode, .flag = step.nonnegative};
  order.values = {step.first_decay, step.second_decay, step.first_share, step.second_share, step.epsilon};
  change_with_vectors(order, step.rates);
}

}  // namespace blco
