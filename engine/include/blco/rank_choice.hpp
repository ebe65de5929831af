// Which of several ranks suits a tensor.
#pragma once

#include <blco/core_consistency.hpp>
#include <blco/starts.hpp>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>

namespace blco {

// The best fit of one rank.
struct RankedFit {
  int rank = 0;
  double fit = 0;               // of AlsMethod CpdModel::fit(), of other methods CpdModel::explained
  double core_consistency = 0;  // as core_consistency() says, up to 100
  double match = 1;             // of several starts StartsReport::mean_match
};

// The smallest rank that scores as well as the best, or by no more than 0.02 worse. The score is
//   (fit / best fit - 0.25 log10(2 - core_consistency / 100)) * match
// with at least 1 within the logarithm: the core consistency of good models varies by orders of magnitude. Nothing for
// less than two ranks, or where no fit is above 0. Throws
// Error{invalid_argument} for a number that is not finite.
std::optional<int> choose_rank(std::span<const RankedFit> fits);

// Why a rank has no core consistency. none: it has one, or was not asked for. Else: the method has none
// (has_core_consistency()); the core has too many columns (core_columns()); the budget is too small; the job was
// stopped.
enum class CoreGap { none, method, size, memory, stopped };

// What is known of a rank.
struct RankReport {
  StartsReport starts;  // with the best model
  std::optional<double> core_consistency;
  CoreGap core_gap = CoreGap::none;
};

// What is done for each rank, and who is told of it.
struct RankSearch {
  int starts = 1;
  bool measures_core = true;
  // CpdOptions::output of each rank, whose best model is saved before its core consistency is computed; empty: that of
  // the options, for one rank alone.
  std::function<std::filesystem::path(int rank)> output = {};
  // Called before each start, counted from 1, and before the core consistency is computed, as start 0.
  std::function<void(int rank, int start)> on_begin = {};
  std::function<void(const StartReport&, const CpdModel&)> on_start = {};  // after each start
  std::function<bool(RankReport&&)> on_rank = {};  // once all is known; false: no other rank begins
};

// Fits the ranks one after the other, each by fit_starts with `options`, and returns the one that choose_rank picks of
// those with a core consistency. All ranks are planned before the first fit, the largest of them first, so that the
// budget of an Error{out_of_memory} suffices for all; options.on_plan gets the plan of the largest, once.
// options.time_limit_seconds limits all ranks together. After a stop, by time or by a callback, no other rank begins; a
// rank that had no sweep yet is left out, and only if it is the first there is an Error{cancelled}. Memory: that of
// fit_starts; models that on_rank keeps are beyond the budget. Throws Error as fit_starts and core_consistency do, and
// invalid_argument for several ranks with options.initial, resume, checkpoint or trace, or with options.output without
// RankSearch::output.
std::optional<int> fit_ranks(const Tensor& tensor, const CpdOptions& options, std::span<const int> ranks,
                             const RankSearch& search = {});

}  // namespace blco
