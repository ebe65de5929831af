// Another's format in a comparison, with the settings that suit it best.
#include <algorithm>
#include <limits>
#include <new>
#include <optional>
#include <utility>

#include "blco/error.hpp"
#include "tests/bench/measure/format_run.hpp"
#include "tests/bench/measure/stopwatch.hpp"

namespace blco {
namespace {

class RivalRun final : public FormatRun {
 public:
  RivalRun(const FormatSetup& setup, RivalKind kind, const RivalOptions& options)
      : kind_(kind), knobs_(options.knobs), on_device_(options.on_device) {
    build_seconds_ = seconds_of([&] { rival_ = make_rival(kind, setup.natural->view(), options, *setup.executor); });
    build_seconds_ -= rival_->upload_seconds();
    if (options.sibling != nullptr) return;
    for (std::size_t n = 0; n < setup.factors.size(); ++n) {
      rival_->load_factor(static_cast<int>(n), setup.factors[n]);
    }
  }

  void pass(int mode) override { rival_->mttkrp(mode); }
  void read_output(int, std::span<double> rows) override { rival_->read_output(rows); }
  RivalWork work(int mode) const override { return rival_->work(mode); }

  std::uint64_t host_bytes() const override {
    const RivalStorage storage = rival_->storage();
    return on_device_ ? 0 : storage.index_bytes + storage.value_bytes + storage.auxiliary_bytes;
  }

  void describe(MeasuredFormat& format) const override {
    const RivalStorage storage = rival_->storage();
    format.index_bytes = storage.index_bytes;
    format.value_bytes = storage.value_bytes;
    format.auxiliary_bytes = storage.auxiliary_bytes;
    format.copies = storage.copies;
    format.build_seconds = build_seconds_;
    format.settings = in_words();
  }

  const Rival& rival() const { return *rival_; }

 private:
  // The knobs that are tuned, and so tell how to repeat the measurement.
  std::string in_words() const {
    std::string text;
    const auto add = [&text](const std::string& words) { text += (text.empty() ? "" : ", ") + words; };
    const bool splits = kind_ == RivalKind::b_csf || kind_ == RivalKind::hb_csf || kind_ == RivalKind::mm_csf;
    if (splits) add(knobs_.fiber_limit == 0 ? "whole fibers" : "fibers of " + std::to_string(knobs_.fiber_limit));
    if (kind_ == RivalKind::mm_csf && knobs_.every_leaf) add("any leaf");
    if (!on_device_) return text;
    if (kind_ == RivalKind::fcoo) add(std::to_string(knobs_.thread_nonzeros) + " nonzeros a thread");
    if (splits || kind_ == RivalKind::fcoo) add("blocks of " + std::to_string(knobs_.block_threads));
    if (kind_ == RivalKind::mm_csf) add(std::to_string(knobs_.warps_per_fiber) + " warps a fiber");
    return text;
  }

  RivalKind kind_;
  RivalKnobs knobs_;
  bool on_device_;
  std::unique_ptr<Rival> rival_;
  double build_seconds_ = 0;
};

// The least of a few sweeps.
double sweep_seconds(RivalRun& run, std::size_t order) {
  constexpr int sweeps = 3;
  double least = std::numeric_limits<double>::infinity();
  for (int i = 0; i < sweeps; ++i) {
    least = std::min(least, seconds_of([&] {
                       for (std::size_t mode = 0; mode < order; ++mode) run.pass(static_cast<int>(mode));
                     }));
  }
  return least;
}

// The knobs that give the fastest sweeps; nothing if the rival fits with none. One build lives at a time.
std::optional<RivalKnobs> tune(const FormatSetup& setup, RivalKind kind, RivalOptions options,
                               const std::vector<RivalKnobs>& tries) {
  std::optional<RivalKnobs> best;
  double least = std::numeric_limits<double>::infinity();
  for (const RivalKnobs& knobs : tries) {
    options.knobs = knobs;
    try {
      RivalRun run(setup, kind, options);
      const double seconds = sweep_seconds(run, setup.factors.size());
      if (seconds >= least) continue;
      best = knobs;
      least = seconds;
    } catch (const std::bad_alloc&) {
      continue;
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::out_of_memory) throw;
    }
  }
  return best;
}

}  // namespace

RivalOptions rival_options(const FormatSetup& setup) {
  RivalOptions options;
  options.rank = setup.options.rank;
  options.precision = setup.options.compute.precision;
  options.on_device = setup.on_device;
  return options;
}

std::unique_ptr<FormatRun> make_rival_run(const FormatSetup& setup, RivalKind kind, bool wants_tuning,
                                          FormatRun* sibling) {
  RivalOptions options = rival_options(setup);
  if (sibling != nullptr) options.sibling = &static_cast<const RivalRun&>(*sibling).rival();
  const std::vector<RivalKnobs> tries = knobs_to_try(kind, setup.on_device);
  options.knobs = tries.front();
  if (wants_tuning && tries.size() > 1) options.knobs = tune(setup, kind, options, tries).value_or(tries.front());
  return std::make_unique<RivalRun>(setup, kind, options);
}

}  // namespace blco
