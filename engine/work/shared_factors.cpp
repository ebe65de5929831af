#include "engine/work/shared_factors.hpp"

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
    : tree_(&tree), moves_(&moves), own_(&own), state_(std::make_unique<State>()) {
  const auto modes = static_cast<std::size_t>(config.layout.order());
  state_->factors.resize(modes, {.owners = false});
  for (std::size_t mode = 0; mode < modes; ++mode) state_->versions.push_back(own.version(static_cast<int>(mode)));
  state_->grams.resize(modes);
  state_->outputs.resize(modes);
  state_->duals.resize(modes);
  state_->vectors.resize(config.vectors.size(), std::vector<Holders>(modes));
}

// Factors may have been loaded into the backend here without this object.
SharedFactors::Holders& SharedFactors::holders(const MovedRows& what) const {
  const auto mode = static_cast<std::size_t>(what.mode);
  switch (what.matrix) {
    case Matrix::output:
      return state_->outputs[mode];
    case Matrix::dual:
      return state_->duals[mode];
    case Matrix::vector:
      return state_->vectors.at(static_cast<std::size_t>(what.vector))[mode];
    case Matrix::factor:
      break;
  }
  if (own_->version(what.mode) != state_->versions[mode]) set_factor(what.mode, {.leader = true, .owners = false});
  return state_->factors[mode];
}

void SharedFactors::set_factor(int mode, const Holders& holders) const {
  const auto n = static_cast<std::size_t>(mode);
  state_->factors[n] = holders;
  state_->versions[n] = own_->version(mode);
  state_->grams[n].clear();
}

void SharedFactors::move(Move move, const MovedRows& what) const {
  // What a move of the factor loads here, even if it then fails, is no other factor.
  struct NoteVersion {
    ~NoteVersion() {
      if (what.matrix == Matrix::factor) state->versions[static_cast<std::size_t>(what.mode)] = own->version(what.mode);
    }
    State* state;
    Factors* own;
    const MovedRows& what;
  };
  const NoteVersion at_end{state_.get(), own_, what};
  Message message(MessageKind::move);
  message.put(move).put(what);
  tree_->order(message, Combining::sums, [&] {
    moves_->make(move, what);
    return std::vector<double>();
  });
}

void SharedFactors::to_leader(const MovedRows& what) const {
  if (holders(what).leader) return;
  move(Move::to_leader, what);
  holders(what).leader = true;
}

void SharedFactors::to_owners(const MovedRows& what) const {
  if (holders(what).owners) return;
  move(Move::from_leader, what);
  holders(what).owners = true;
}

void SharedFactors::set_loaded(const MovedRows& what) {
  if (what.matrix == Matrix::factor) return set_factor(what.mode, {.leader = true, .owners = false});
  holders(what) = {.leader = true, .owners = false};
}

void SharedFactors::bring_to_chunks(ModeSet modes) const {
  for (int mode = 0; mode < this->modes(); ++mode) {
    if (!has_mode(modes, mode)) continue;
    to_owners(factor_of(mode));
    if (holders(factor_of(mode)).touchers) continue;
    move(Move::to_touchers, factor_of(mode));
    holders(factor_of(mode)).touchers = true;
    if (moves_->touches_all(mode)) holders(factor_of(mode)).leader = true;
  }
}

void SharedFactors::bring_here(ModeSet modes) const {
  for (int mode = 0; mode < this->modes(); ++mode) {
    if (has_mode(modes, mode)) to_leader(factor_of(mode));
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
  if (!has_mode(state_->of_others, mode)) {
    state_->outputs[static_cast<std::size_t>(mode)] = {.leader = true, .owners = false};
    return;
  }
  move(has_mode(state_->any_rows, mode) ? Move::sum_all : Move::sum, output_of(mode));
  state_->outputs[static_cast<std::size_t>(mode)] = {.leader = false, .owners = true};
}

void SharedFactors::load_factor(int mode, std::uint64_t first_row, std::span<const double> rows) {
  to_leader(factor_of(mode));
  own_->load_factor(mode, first_row, rows);
  set_loaded(factor_of(mode));
}

void SharedFactors::store_factor(int mode, std::uint64_t first_row, std::span<double> rows) const {
  to_leader(factor_of(mode));
  own_->store_factor(mode, first_row, rows);
}

void SharedFactors::load_rows(int mode, std::span<const std::uint32_t> rows, std::span<const double> values) {
  to_leader(factor_of(mode));
  own_->load_rows(mode, rows, values);
  set_loaded(factor_of(mode));
}

void SharedFactors::store_rows(int mode, std::span<const std::uint32_t> rows, std::span<double> values) const {
  to_leader(factor_of(mode));
  own_->store_rows(mode, rows, values);
}

void SharedFactors::load_dual(int mode, std::uint64_t first_row, std::span<const double> rows) {
  to_leader(dual_of(mode));
  own_->load_dual(mode, first_row, rows);
  set_loaded(dual_of(mode));
}

void SharedFactors::store_dual(int mode, std::uint64_t first_row, std::span<double> rows) const {
  to_leader(dual_of(mode));
  own_->store_dual(mode, first_row, rows);
}

void SharedFactors::read_output(int mode, std::uint64_t first_row, std::span<double> rows) const {
  settle(mode);
  to_leader(output_of(mode));
  own_->read_output(mode, first_row, rows);
}

void SharedFactors::load_output(int mode, std::uint64_t first_row, std::span<const double> rows) {
  settle(mode);
  to_leader(output_of(mode));
  own_->load_output(mode, first_row, rows);
  set_loaded(output_of(mode));
}

void SharedFactors::load_vector(int vector, int mode, std::uint64_t first_row, std::span<const double> rows) {
  to_leader(vector_of(vector, mode));
  own_->load_vector(vector, mode, first_row, rows);
  set_loaded(vector_of(vector, mode));
}

void SharedFactors::store_vector(int vector, int mode, std::uint64_t first_row, std::span<double> rows) const {
  to_leader(vector_of(vector, mode));
  own_->store_vector(vector, mode, first_row, rows);
}

std::vector<double> SharedFactors::take_factor(int mode) {
  to_leader(factor_of(mode));
  return own_->take_factor(mode);
}

std::vector<double> SharedFactors::take(StepOrder step, std::span<const double> first, std::span<const double> second,
                                        const std::function<std::vector<double>()>& own_part) {
  step.first_numbers = first.size();
  std::vector<double> numbers(first.begin(), first.end());
  numbers.insert(numbers.end(), second.begin(), second.end());
  Message message(MessageKind::step);
  message.put(step).put(std::span(numbers));
  return tree_->order(message, combining_of(step.kind),
                      [&] { return own_part ? own_part() : take_step(*own_, step, numbers); });
}

std::vector<double> SharedFactors::change(const StepOrder& step, std::span<const double> first,
                                          std::span<const double> second) {
  to_owners(factor_of(step.mode));
  std::vector<double> numbers = take(step, first, second);
  set_factor(step.mode, {.leader = false, .owners = true});
  return numbers;
}

std::vector<double> SharedFactors::change_with_vectors(const StepOrder& step, std::span<const double> first) {
  settle(step.mode);
  to_owners(output_of(step.mode));
  for (const int vector : {0, 1}) to_owners(vector_of(vector, step.mode));
  std::vector<double> numbers = change(step, first);
  for (const int vector : {0, 1}) holders(vector_of(vector, step.mode)) = {.leader = false};
  return numbers;
}

// Their rows lie where they lay.
void SharedFactors::copy_vector(int from, int to) {
  for (int mode = 0; mode < modes(); ++mode) to_owners(vector_of(from, mode));
  take({.kind = StepKind::copy_vector, .vector = from, .to_vector = to});
  for (int mode = 0; mode < modes(); ++mode) holders(vector_of(to, mode)) = holders(vector_of(from, mode));
}

void SharedFactors::copy_to_vector(int mode, int vector) {
  to_owners(factor_of(mode));
  take({.kind = StepKind::copy_to_vector, .mode = mode, .vector = vector});
  holders(vector_of(vector, mode)) = holders(factor_of(mode));
}

void SharedFactors::copy_from_vector(int mode, int vector) {
  to_owners(vector_of(vector, mode));
  take({.kind = StepKind::copy_from_vector, .mode = mode, .vector = vector});
  set_factor(mode, holders(vector_of(vector, mode)));
}

SolvedRows SharedFactors::solve_rows(int mode, const RowProblem& problem) {
  settle(mode);
  to_owners(output_of(mode));
  if (problem.constraint.needs_dual()) {
    to_owners(dual_of(mode));
    holders(dual_of(mode)) = {.leader = false};
  }
  StepOrder step{.kind = StepKind::solve_rows, .mode = mode, .columns = problem.solver->rank()};
  step.constraint = problem.constraint;
  step.values[0] = problem.rho;
  to_owners(factor_of(mode));
  SolvedRows solved{.squares = take(step, problem.system, problem.weights, [&] {
                      SolvedRows own = own_->solve_rows(mode, problem);
                      own.squares.push_back(own.inner);
                      return own.squares;
                    })};
  set_factor(mode, {.leader = false});
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
  set_factor(mode, {.leader = false});
  state_->duals[static_cast<std::size_t>(mode)] = {.leader = false};
}

std::span<const double> SharedFactors::gram(int mode) {
  to_owners(factor_of(mode));
  std::vector<double>& gram = state_->grams[static_cast<std::size_t>(mode)];
  if (gram.empty()) gram = take({.kind = StepKind::gram, .mode = mode});
  return gram;
}

std::vector<double> SharedFactors::column_sums(int mode) {
  to_owners(factor_of(mode));
  return take({.kind = StepKind::column_sums, .mode = mode});
}

// Every worker scales all of its rows, so that those that are up to date stay so.
void SharedFactors::scale_columns(int mode, std::span<const double> scales, std::span<const double> shifts) {
  const Holders before = holders(factor_of(mode));
  take({.kind = StepKind::scale_columns, .mode = mode}, scales, shifts);
  set_factor(mode, before);
}

void SharedFactors::raise_to_zero(int mode) {
  const Holders before = holders(factor_of(mode));
  take({.kind = StepKind::raise_to_zero, .mode = mode});
  set_factor(mode, before);
}

std::vector<double> SharedFactors::extrapolate(int mode, int vector, const Extrapolation& step) {
  to_owners(vector_of(vector, mode));
  to_owners(factor_of(mode));
  // All rows change alike: those that are up to date in both stay so.
  const Holders before = holders(factor_of(mode));
  Holders& of_vector = holders(vector_of(vector, mode));
  const Holders both{
      .leader = before.leader && of_vector.leader, .owners = true, .touchers = before.touchers && of_vector.touchers};
  const StepOrder order{.kind = StepKind::extrapolate, .mode = mode, .vector = vector, .flag = step.nonnegative};
  std::vector<double> squares = take(order, step.of_factor, step.of_vector);
  of_vector = before;
  set_factor(mode, both);
  return squares;
}

StepOrder SharedFactors::begin_apr(StepKind kind, int mode, const AprStep& step) {
  settle(mode);
  to_owners(output_of(mode));
  return {.kind = kind, .mode = mode, .values = {step.kappa, step.kappa_tolerance, step.tolerance}};
}

AprViolation SharedFactors::apr_measure(int mode, const AprStep& step, bool until_any) {
  StepOrder order = begin_apr(StepKind::apr_measure, mode, step);
  order.flag = until_any;
  to_owners(factor_of(mode));
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

double SharedFactors::cg_end(int mode) {
  to_owners(vector_of(0, mode));
  return change({.kind = StepKind::cg_end, .mode = mode})[0];
}

void SharedFactors::adam_step(int mode, const AdamStep& step) {
  StepOrder order{.kind = StepKind::adam_step, .mode = mode, .flag = step.nonnegative};
  order.values = {step.first_decay, step.second_decay, step.first_share, step.second_share, step.epsilon};
  change_with_vectors(order, step.rates);
}

}  // namespace blco
