// The serial reference backend: every step as it is defined, in f64.
#include "tests/kernels/reference_backend.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <string>
#include <utility>

#include "blco/error.hpp"
#include "blco/payload.hpp"
#include "kernels/backend_checks.hpp"
#include "kernels/factor_set.hpp"
#include "kernels/method_vectors.hpp"
#include "tests/kernels/reference_rows.hpp"

namespace blco {
namespace {

class VectorBuffer final : public HostBuffer {
 public:
  explicit VectorBuffer(std::uint64_t bytes) : storage_(bytes + alignment) {}

  std::span<std::byte> bytes() override {
    const auto address = reinterpret_cast<std::uintptr_t>(storage_.data());
    const std::size_t skip = (alignment - address % alignment) % alignment;
    return std::span(storage_).subspan(skip, storage_.size() - alignment);
  }

 private:
  static constexpr std::size_t alignment = 64;
  std::vector<std::byte> storage_;
};

// Held rows, by their places.
struct Entry {
  std::array<std::uint64_t, max_order> coordinates{};
  double value = 0;
};

class ReferenceBackend final : public Backend {
 public:
  explicit ReferenceBackend(const BackendConfig& config)
      : layout_(config.layout),
        rows_(config.rows()),
        rounds_factors_(config.precision == Precision::mixed),
        vectors_(config, [](const VectorShape&, std::size_t numbers) { return std::vector<double>(numbers); }) {
    for (int mode = 0; mode < layout_.order(); ++mode) {
      const int columns = config.columns_of(mode);
      require(columns >= 1, "give a rank of at least 1");
      columns_.push_back(static_cast<std::size_t>(columns));
      widths_.push_back(columns_.back());
      places_.push_back(places_of(config, mode));
      const std::size_t numbers = row_start(mode, rows_[index(mode)]);
      owned_.push_back({0, numbers});
      const std::size_t dual_numbers = has_mode(config.dual_modes, mode) ? numbers : 0;
      factors_.add(config.keep_previous, [&] { return std::vector<double>(numbers); });
      duals_.add(config.keep_previous, [&] { return std::vector<double>(dual_numbers); });
      grams_.emplace_back(row_start(mode, columns_.back()));
      outputs_.emplace_back();
    }
  }

  std::string name() const override { return "reference"; }
  std::unique_ptr<HostBuffer> allocate_host(std::uint64_t bytes) override {
    return std::make_unique<VectorBuffer>(bytes);
  }

  void load_factor(int mode, std::uint64_t first_row, std::span<const double> rows) override {
    std::vector<double>& factor = factors_[mode];
    if (row_start(mode, first_row) + rows.size() > factor.size()) {
      throw Error(ErrorKind::invalid_argument, "more rows than mode " + std::to_string(mode) + " has");
    }
    std::ranges::transform(rows, factor.begin() + static_cast<std::ptrdiff_t>(row_start(mode, first_row)),
                           [this](double number) { return stored(number); });
    refresh_gram(mode);
  }

  void store_factor(int mode, std::uint64_t first_row, std::span<double> rows) const override {
    const auto first = factors_[mode].begin() + static_cast<std::ptrdiff_t>(row_start(mode, first_row));
    std::copy_n(first, rows.size(), rows.begin());
  }

  std::uint64_t version(int mode) const override { return factors_.version(mode); }

  std::vector<double> take_factor(int mode) override {
    for (std::vector<double>& output : outputs_) output = {};
    return factors_.take(mode);
  }

  void load_dual(int mode, std::uint64_t first_row, std::span<const double> rows) override {
    std::ranges::copy(rows, duals_[mode].begin() + static_cast<std::ptrdiff_t>(row_start(mode, first_row)));
  }

  void store_dual(int mode, std::uint64_t first_row, std::span<double> rows) const override {
    std::copy_n(duals_[mode].begin() + static_cast<std::ptrdiff_t>(row_start(mode, first_row)), rows.size(),
                rows.begin());
  }

  void begin_pass(const PassRequest& request) override {
    require(request.product == Product::kronecker || std::ranges::count(columns_, columns_.front()) == layout_.order(),
            "begin_pass: factors of different numbers of columns have a Kronecker product only");
    pass_ = request;
    if (request.continues) return;
    sum_of_terms_ = 0;
    for (int mode = 0; mode < layout_.order(); ++mode) {
      if (!has_mode(request.outputs, mode)) continue;
      widths_[index(mode)] = request.product == Product::kronecker ? products_of_others(mode) : columns_[index(mode)];
      outputs_[index(mode)].assign(static_cast<std::size_t>(rows_[index(mode)]) * widths_[index(mode)], 0.0);
    }
  }

  void submit(int, const ChunkView& chunk) override {
    for_each_entry(chunk, [this](const Entry& entry) { add(entry); });
  }

  void wait_slot(int) override {}
  ResidentId keep(int, const ChunkView& chunk, Tier tier) override {
    Resident resident;
    resident.is_decoded = tier != Tier::packed;
    if (resident.is_decoded) {
      for_each_entry(chunk, [&resident](const Entry& entry) { resident.decoded.push_back(entry); });
    } else {
      resident.packed = chunk;
    }
    residents_.push_back(std::move(resident));
    return residents_.size() - 1;
  }

  void submit_resident(ResidentId chunk) override {
    const Resident& resident = residents_.at(chunk);
    if (!resident.is_decoded) return submit(0, resident.packed);
    for (const Entry& entry : resident.decoded) add(entry);
  }

  void finish_pass() override {}
  double sum_of_terms() const override { return sum_of_terms_; }
  void read_output(int mode, std::uint64_t first_row, std::span<double> rows) const override {
    const std::vector<double>& output = outputs_[index(mode)];
    const std::size_t first = static_cast<std::size_t>(first_row) * widths_[index(mode)];
    if (first + rows.size() > output.size()) {
      throw Error(ErrorKind::invalid_argument, "more rows than the output of mode " + std::to_string(mode) + " has");
    }
    std::copy_n(output.begin() + static_cast<std::ptrdiff_t>(first), rows.size(), rows.begin());
  }

  void load_output(int mode, std::uint64_t first_row, std::span<const double> rows) override {
    const std::size_t first = static_cast<std::size_t>(first_row) * widths_[index(mode)];
    std::ranges::copy(rows, outputs_[index(mode)].begin() + static_cast<std::ptrdiff_t>(first));
  }

  void own(std::vector<OwnedRows> rows) override {
    check_owned_rows(rows_, rows);
    for (int mode = 0; mode < layout_.order(); ++mode) {
      owned_[index(mode)] = {row_start(mode, rows[index(mode)].begin), row_start(mode, rows[index(mode)].end)};
      refresh_gram(mode);
    }
  }

  SolvedRows solve_rows(int mode, const RowProblem& problem) override {
    check_row_problem(problem, static_cast<int>(columns_[index(mode)]), !std::as_const(duals_)[mode].empty());
    const std::size_t rank = columns_[index(mode)];
    const std::vector<double>& output = outputs_[index(mode)];
    const std::vector<double> before = factors_[mode];
    std::vector<double>& factor = factors_.begin_update(mode);
    factor = before;
    if (problem.constraint.needs_dual()) {
      const std::vector<double> dual_before = duals_[mode];
      duals_.begin_update(mode) = dual_before;
    }
    solve(mode, problem, factor);
    SolvedRows solved{std::vector<double>(rank), 0.0};
    for_owned(mode, [&](std::size_t at) {
      solved.inner += output[at] * factor[at];
      solved.squares[at % rank] += factor[at] * factor[at];
    });
    return solved;
  }

  void scale_rows(int mode, std::span<const double> divisors) override {
    check_divisors(divisors, static_cast<int>(columns_[index(mode)]));
    const double filling = equal_entry(layout_.mode(mode).length);
    change(mode, [&](double number, std::size_t at) {
      const double divisor = divisors.empty() ? 1 : divisors[at % divisors.size()];
      return divisor == 0 ? filling : number / divisor;
    });
  }

  void restore_factor(int mode) override {
    factors_.restore(mode);
    duals_.restore(mode);
  }

  std::span<const double> gram(int mode) override { return grams_[index(mode)]; }

  std::vector<double> column_sums(int mode) override {
    std::vector<double> sums(columns_[index(mode)]);
    for_owned(mode, [&](std::size_t at) { sums[at % sums.size()] += factors_[mode][at]; });
    return sums;
  }

  void scale_columns(int mode, std::span<const double> scales, std::span<const double> shifts) override {
    check_scales(scales, shifts, static_cast<int>(columns_[index(mode)]));
    change_all(mode, [&](double number, std::size_t at) {
      return number * scales[at % scales.size()] + (shifts.empty() ? 0 : shifts[at % scales.size()]);
    });
  }

  void raise_to_zero(int mode) override {
    change_all(mode, [](double number, std::size_t) { return std::max(number, 0.0); });
  }
  std::vector<double> extrapolate(int mode, int vector, const Extrapolation& step) override {
    const std::size_t rank = columns_[index(mode)];
    check_extrapolation(step, static_cast<int>(rank));
    const std::span<double> before = vectors_.rows(vector, mode);
    std::vector<double> squares(rank);
    change_all(mode, [&](double number, std::size_t at) {
      const double ahead = number * step.of_factor[at % rank] - before[at] * step.of_vector[at % rank];
      before[at] = number;
      return step.nonnegative ? std::max(ahead, 0.0) : ahead;
    });
    for_owned(mode, [&](std::size_t at) { squares[at % rank] += factors_[mode][at] * factors_[mode][at]; });
    return squares;
  }

  AprViolation apr_measure(int mode, const AprStep& step, bool until_any) override {
    const std::vector<double> phi = phi_of(mode, step);
    AprViolation violation;
    for_owned(mode, [&](std::size_t at) {
      const double b = factors_[mode][at];
      const double size = step.held_sums.empty() ? b : b * step.held_sums[at % step.held_sums.size()];
      violation.largest = std::max(violation.largest, std::abs(std::min(size, 1 - phi[at])));
      if (!until_any && step.kappa > 0 && is_stuck_at(at, b, phi[at], step)) violation.has_stuck_zeros = true;
    });
    return violation;
  }

  void apr_free_zeros(int mode, const AprStep& step) override {
    const std::vector<double> phi = phi_of(mode, step);
    change(mode, [&](double b, std::size_t at) {
      return is_stuck_at(at, b, phi[at], step) ? b + step.kappa * apr_scale(step.weights[at % step.weights.size()]) : b;
    });
  }

  void apr_multiply(int mode, const AprStep& step) override {
    const std::vector<double> phi = phi_of(mode, step);
    change(mode, [&](double b, std::size_t at) { return b * phi[at]; });
  }

  void load_vector(int vector, int mode, std::uint64_t first_row, std::span<const double> rows) override {
    std::ranges::copy(rows, vectors_.part(vector, mode, first_row, rows.size()).begin());
  }
  void store_vector(int vector, int mode, std::uint64_t first_row, std::span<double> rows) const override {
    std::ranges::copy(vectors_.part(vector, mode, first_row, rows.size()), rows.begin());
  }
  void copy_vector(int from, int to) override {
    const auto [source, target] = vectors_.equal_pair(from, to);
    std::ranges::copy(source, target.begin());
  }
  void copy_to_vector(int mode, int vector) override {
    std::ranges::copy(factors_[mode], vectors_.rows(vector, mode).begin());
  }
  void copy_from_vector(int mode, int vector) override {
    const std::span<const double> rows = vectors_.rows(vector, mode);
    change_all(mode, [&](double, std::size_t at) { return rows[at]; });
  }

  void cg_begin(int mode, const CgStep& step) override {
    for_each_solved_row(mode, [&](const CgRow& row) { begin_row(step, row); });
  }
  void cg_step(int mode, const CgStep& step) override {
    for_each_solved_row(mode, [&](const CgRow& row) { step_row(step, row); });
  }
  double cg_end(int mode) override {
    const std::span<const double> rows = vectors_.rows(0, mode);
    change(mode, [&](double, std::size_t at) { return rows[at]; });
    double squares = 0;
    for_owned(mode, [&](std::size_t at) { squares += rows[at] * rows[at]; });
    return squares;
  }

  void adam_step(int mode, const AdamStep& step) override {
    check_adam_step(step, static_cast<int>(columns_[index(mode)]));
    const std::vector<double> gradient = finished_output(mode);
    const std::span<double> first = vectors_.rows(0, mode);
    const std::span<double> second = vectors_.rows(1, mode);
    change(mode, [&](double number, std::size_t at) {
      const std::size_t r = at % step.rates.size();
      const auto row = std::span(gradient).subspan(at - r, step.rates.size());
      if (std::ranges::all_of(row, [](double slope) { return slope == 0; })) return number;
      first[at] = step.first_decay * first[at] + (1 - step.first_decay) * gradient[at];
      second[at] = step.second_decay * second[at] + (1 - step.second_decay) * gradient[at] * gradient[at];
      const double root = std::sqrt(second[at] / step.second_share) + step.epsilon;
      const double moved = number - step.rates[r] * (first[at] / step.first_share) / root;
      return step.nonnegative ? std::max(moved, 0.0) : moved;
    });
  }

 private:
  struct Resident {
    ChunkView packed;
    std::vector<Entry> decoded;
    bool is_decoded = false;
  };

  static std::size_t index(int mode) { return static_cast<std::size_t>(mode); }
  std::size_t row_start(int mode, std::uint64_t row) const {
    return static_cast<std::size_t>(row) * columns_[index(mode)];
  }
  std::span<const double> row_of(const Entry& entry, int mode) const {
    return std::span(factors_[mode]).subspan(row_start(mode, entry.coordinates[index(mode)]), columns_[index(mode)]);
  }

  std::size_t products_of_others(int target) const {
    std::size_t products = 1;
    for (int mode = 0; mode < layout_.order(); ++mode) products *= mode == target ? 1 : columns_[index(mode)];
    return products;
  }

  double stored(double number) const { return rounds_factors_ ? static_cast<float>(number) : number; }

  template <class Visit>
  void for_each_entry(const ChunkView& chunk, const Visit& visit) const {
    const PayloadView low = view_payload(chunk[Column::index]);
    const PayloadView key = layout_.has_high_word() ? view_payload(chunk[Column::high_word]) : PayloadView{};
    const PayloadView value = view_values(chunk[Column::value], chunk.value_exponent);
    std::array<std::uint64_t, frame_entries> lows{};
    std::array<std::uint64_t, frame_entries> keys{};
    std::array<double, frame_entries> values{};
    for (std::uint64_t first = 0; first < chunk.nnz; first += frame_entries) {
      const std::uint64_t frame = first / frame_entries;
      decode_line_frame(low, frame, lows.data());
      if (key.bytes != nullptr) decode_line_frame(key, frame, keys.data());
      decode_value_frame(value, frame, values.data());
      for (std::size_t i = 0; i < std::min<std::uint64_t>(frame_entries, chunk.nnz - first); ++i) {
        Entry entry;
        entry.value = values[i];
        layout_.delinearize({keys[i], lows[i]}, std::span(entry.coordinates).first(layout_.shape().size()));
        for (std::size_t mode = 0; mode < layout_.shape().size(); ++mode) {
          std::uint64_t& row = entry.coordinates[mode];
          if (row >= places_[mode].size() || places_[mode][row] < 0) {
            const std::string of_mode = "chunk " + std::to_string(chunk.number) + ": mode " + std::to_string(mode);
            throw Error(ErrorKind::corrupt, of_mode + " has coordinate " + std::to_string(row));
          }
          row = static_cast<std::uint64_t>(places_[mode][row]);
        }
        visit(entry);
      }
    }
  }

  void add(const Entry& entry) {
    if (pass_.is_mttkrp()) return add_to_output(entry, pass_.only_mode(), entry.value);
    double model = 0;
    for (std::size_t r = 0; r < columns_.front(); ++r) {
      double product = 1;
      for (int mode = 0; mode < layout_.order(); ++mode) product *= row_of(entry, mode)[r];
      model += product;
    }
    double term = 0;
    double weight = 0;
    with_rule(*pass_.function, [&](const auto& rule) { rule(entry.value, model, term, weight); });
    sum_of_terms_ += pass_.function->scale * term;
    for (int mode = 0; mode < layout_.order(); ++mode) {
      if (has_mode(pass_.outputs, mode)) add_to_output(entry, mode, pass_.function->scale * weight);
    }
  }

  void add_to_output(const Entry& entry, int target, double weight) {
    const std::size_t width = widths_[index(target)];
    const std::size_t out = static_cast<std::size_t>(entry.coordinates[index(target)]) * width;
    for (std::size_t column = 0; column < width; ++column) {
      outputs_[index(target)][out + column] += weight * product_of_others(entry, target, column);
    }
  }

  // Of one number of each other mode's row: those of `column` for the Hadamard product, and for the Kronecker product
  // those that it counts out, the last mode's fastest.
  double product_of_others(const Entry& entry, int target, std::size_t column) const {
    double product = 1;
    for (int mode = layout_.order(); mode-- > 0;) {
      if (mode == target) continue;
      const std::span<const double> row = row_of(entry, mode);
      product *= row[pass_.product == Product::kronecker ? column % row.size() : column];
      if (pass_.product == Product::kronecker) column /= row.size();
    }
    return product;
  }

  // Calls visit(its place) for each number of owned rows of a mode.
  template <class Visit>
  void for_owned(int mode, const Visit& visit) const {
    for (std::size_t at = owned_[index(mode)].begin; at < owned_[index(mode)].end; ++at) visit(at);
  }
  // Replaces each number of a factor, or of its owned rows, by make(number, its place).
  template <class Make>
  void change_all(int mode, const Make& make) {
    std::vector<double>& factor = factors_[mode];
    for (std::size_t at = 0; at < factor.size(); ++at) factor[at] = stored(make(factor[at], at));
    refresh_gram(mode);
  }
  template <class Make>
  void change(int mode, const Make& make) {
    std::vector<double>& factor = factors_[mode];
    for_owned(mode, [&](std::size_t at) { factor[at] = stored(make(factor[at], at)); });
    refresh_gram(mode);
  }

  std::vector<double> finished_output(int mode) const {
    std::vector<double> rows(factors_[mode].size());
    read_output(mode, 0, rows);
    return rows;
  }

  std::vector<double> phi_of(int mode, const AprStep& step) const {
    check_apr_step(step, static_cast<int>(columns_[index(mode)]));
    std::vector<double> phi = finished_output(mode);
    for (std::size_t at = 0; at < phi.size() && !step.held_sums.empty(); ++at) {
      const double sum = step.held_sums[at % step.held_sums.size()];
      phi[at] = sum > 0 ? phi[at] / sum : 0;
    }
    return phi;
  }

  static bool is_stuck_at(std::size_t at, double b, double phi, const AprStep& step) {
    const double weight = step.weights[at % step.weights.size()];
    return is_stuck(b, phi, step.kappa_tolerance * apr_scale(weight), step.tolerance);
  }

  // Calls visit(a CgRow) for each owned row of a mode.
  template <class Visit>
  void for_each_solved_row(int mode, const Visit& visit) {
    const std::vector<double> output = finished_output(mode);
    const std::size_t rank = columns_[index(mode)];
    for (std::size_t at = owned_[index(mode)].begin; at < owned_[index(mode)].end; at += rank) {
      visit(CgRow{std::span(output).subspan(at, rank), std::span(factors_[mode]).subspan(at, rank),
                  vectors_.rows(0, mode).subspan(at, rank), vectors_.rows(1, mode).subspan(at, rank)});
    }
    change(mode, [](double number, std::size_t) { return number; });
  }

  // Turns the old factor into the solution, row by row.
  void solve(int mode, const RowProblem& problem, std::vector<double>& factor) {
    const std::size_t rank = columns_[index(mode)];
    const std::vector<double>& output = outputs_[index(mode)];
    for_owned(mode, [&](std::size_t at) {
      if (!problem.weights.empty()) factor[at] *= problem.weights[at % rank];
    });
    for (std::size_t start = owned_[index(mode)].begin; start < owned_[index(mode)].end; start += rank) {
      const std::span<const double> given = std::span(output).subspan(start, rank);
      const std::span<double> row = std::span(factor).subspan(start, rank);
      if (problem.constraint.is_least_squares()) {
        least_squares_row(problem, given, row);
      } else if (problem.constraint.needs_dual()) {
        admm_row(problem, given, row, std::span(duals_[mode]).subspan(start, rank));
      } else {
        hals_row(problem, given, row);
      }
    }
  }

  void refresh_gram(int mode) {
    factors_.mark_changed(mode);
    const std::size_t rank = columns_[index(mode)];
    const std::vector<double>& factor = factors_[mode];
    std::vector<double>& gram = grams_[index(mode)];
    std::ranges::fill(gram, 0.0);
    for (std::size_t start = owned_[index(mode)].begin; start < owned_[index(mode)].end; start += rank) {
      for (std::size_t j = 0; j < rank; ++j) {
        for (std::size_t k = 0; k < rank; ++k) gram[j * rank + k] += factor[start + j] * factor[start + k];
      }
    }
  }

  TensorLayout layout_;
  std::vector<std::uint64_t> rows_;                // of each mode
  std::vector<std::vector<std::int64_t>> places_;  // of each mode's coordinates
  std::vector<std::size_t> columns_;               // of each mode's factor
  std::vector<std::size_t> widths_;                // of each mode's output
  std::vector<OwnedRows> owned_;                   // of each mode's factor, in numbers
  bool rounds_factors_;                            // to f32
  MethodVectors<std::vector<double>> vectors_;
  PassRequest pass_ = 0;
  double sum_of_terms_ = 0;
  FactorSet<std::vector<double>> factors_;
  FactorSet<std::vector<double>> duals_;  // empty but for modes that ADMM solves
  std::vector<std::vector<double>> grams_;
  std::vector<std::vector<double>> outputs_;  // per mode; of those of the last pass
  std::vector<Resident> residents_;
};

}  // namespace

std::unique_ptr<Backend> make_reference_backend(const BackendConfig& config) {
  return std::make_unique<ReferenceBackend>(config);
}

}  // namespace blco
