// Another's format in a comparison, with the settings that suit it best.
#include <algorithm>
#include <limits>
#include <utility>

#include "engine/inspect/format_run.hpp"
#include "engine/inspect/stopwatch.hpp"

namespace blco {
namespace {

class RivalRun final : public FormatRun {
 public:
  RivalRun(const FormatSetup& setup, RivalKind kind, const RivalOptions& options) : kind_(kind), knobs_(options.knobs) {
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

  void describe(MeasuredFormat& format) const override {
    const RivalStorage storage = rival_->storage();
    format.index_bytes = storage.index_bytes;
    format.value_bytes = storage.value_bytes;
    format.auxiliary_bytes = storage.auxiliary_bytes;
    format.copies = storage.copies;
    format.build_seconds = build_seconds_;
    format.settings = in_words(kind_, knobs_);
  }

  const Rival& rival() const { return *rival_; }

 private:
  static std::string in_words(RivalKind kind, const RivalKnobs& knobs) {
    if (kind == RivalKind::fcoo) return std::to_string(knobs.thread_nonzeros) + " nonzeros a thread";
    const bool splits = kind == RivalKind::b_csf || kind == RivalKind::hb_csf || kind == RivalKind::mm_csf;
    if (!splits) return {};
    std::string text = knobs.fiber_limit == 0 ? "whole fibers" : "fibers of " + std::to_string(knobs.fiber_limit);
    if (kind == RivalKind::mm_csf && knobs.every_leaf) text += ", any leaf";
    return text;
  }

  RivalKind kind_;
  RivalKnobs knobs_;
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

}  // namespace

RivalOptions rival_options(const FormatSetup& setup) {
  RivalOptions options;
  options.rank = setup.options.rank;
  options.precision = setup.options.precision;
  options.on_device = setup.on_device;
  return options;
}

std::unique_ptr<FormatRun> make_rival_run(const FormatSetup& setup, RivalKind kind, bool tune, FormatRun* sibling) {
  RivalOptions options = rival_options(setup);
  if (sibling != nullptr) options.sibling = &static_cast<const RivalRun&>(*sibling).rival();
  std::vector<RivalKnobs> tries = knobs_to_try(kind, setup.on_device);
  if (!tune) tries.resize(1);
  std::unique_ptr<RivalRun> best;
  double least = std::numeric_limits<double>::infinity();
  for (const RivalKnobs& knobs : tries) {
    options.knobs = knobs;
    auto run = std::make_unique<RivalRun>(setup, kind, options);
    const double seconds = tries.size() == 1 ? 0 : sweep_seconds(*run, setup.factors.size());
    if (best != nullptr && seconds >= least) continue;
    best = std::move(run);
    least = seconds;
  }
  return best;
}

}  // namespace blco
