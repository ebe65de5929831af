// Each public function, called wrongly, refuses by Error{invalid_argument}, and under the address sanitizer touches
// nothing that is not its own. A row names the function that it calls. The last test reads the public headers, so that
// a function that is declared there and stands neither in a row nor among those that take anything fails it; member
// functions have rows of their own, which nothing counts.
//
// Over 500 lines: a table.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <blco/arrow.hpp>
#include <blco/core_consistency.hpp>
#include <blco/cpd.hpp>
#include <blco/evaluate.hpp>
#include <blco/export.hpp>
#include <blco/generate.hpp>
#include <blco/memory_tensor.hpp>
#include <blco/model_match.hpp>
#include <blco/model_summary.hpp>
#include <blco/nonzeros.hpp>
#include <blco/peers.hpp>
#include <blco/predict.hpp>
#include <blco/rank_choice.hpp>
#include <blco/report.hpp>
#include <blco/starts.hpp>
#include <blco/statistics.hpp>
#include <blco/tensor_file.hpp>
#include <blco/ttm.hpp>
#include <blco/tucker_ranks.hpp>
#include <blco/verify.hpp>
#include <fstream>
#include <functional>
#include <limits>
#include <regex>
#include <set>

#include "tests/temporary_folder.hpp"

namespace blco {
namespace {

constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

// Peers of which nobody calls anything.
class NoPeers final : public Peers {
 public:
  int rank() const override { return 1; }
  int size() const override { return 2; }
  int neighbours() const override { return 2; }
  void send(int, std::span<const std::byte>) override {}
  std::vector<std::byte> receive(int) override { return {}; }
};

CpdModel whole_model() {
  CpdModel model;
  model.shape = {3, 2};
  model.rank = 2;
  model.weights = {2, 1};
  model.factors = {std::vector<double>(6, 0.5), std::vector<double>(4, 0.5)};
  return model;
}

TuckerModel whole_tucker() {
  TuckerModel model;
  model.shape = {3, 2};
  model.ranks = {2, 2};
  model.core.assign(4, 1.0);
  model.factors = {std::vector<double>(6, 0.5), std::vector<double>(4, 0.5)};
  return model;
}

template <class Model>
std::vector<Model> broken(const Model& whole, const std::vector<std::function<void(Model&)>>& faults) {
  std::vector<Model> models;
  for (const auto& fault : faults) fault(models.emplace_back(whole));
  models.emplace_back(whole);
  const Model taken = std::move(models.back());  // what is left has no numbers
  return models;
}

std::vector<CpdModel> broken_models() {
  return broken<CpdModel>(
      whole_model(),
      {[](CpdModel& model) { model.rank = 9; }, [](CpdModel& model) { model.rank = 0; },
       [](CpdModel& model) { model.rank = -1; }, [](CpdModel& model) { model.weights.pop_back(); },
       [](CpdModel& model) { model.shape[0] = 1000; }, [](CpdModel& model) { model.shape.clear(); },
       [](CpdModel& model) { model.factors[1].pop_back(); }, [](CpdModel& model) { model.factors.pop_back(); },
       [](CpdModel& model) { model.mode_names = {"one"}; }, [](CpdModel& model) { model.labels.resize(3); },
       [](CpdModel& model) { model.constraints.resize(5); }});
}

std::vector<TuckerModel> broken_tuckers() {
  return broken<TuckerModel>(
      whole_tucker(),
      {[](TuckerModel& model) {
         model.ranks = {2, 3};
       },
       [](TuckerModel& model) {
         model.ranks = {0, 2};
       },
       [](TuckerModel& model) { model.ranks.pop_back(); }, [](TuckerModel& model) { model.core.pop_back(); },
       [](TuckerModel& model) { model.core.clear(); }, [](TuckerModel& model) { model.shape[1] = 1000; },
       [](TuckerModel& model) { model.factors[0].clear(); }, [](TuckerModel& model) { model.factors.pop_back(); }});
}

struct Misuse {
  std::string function;
  std::function<void()> call;
};

class Misuses : public testing::Test {
 protected:
  Misuses()
      : file_(made(folder_ / "tensor.blco")),
        memory_(CoordinateArrays{.coordinates = {rows_, columns_}, .values = values_}),
        taken_(CoordinateArrays{.coordinates = {rows_, columns_}}) {
    const MemoryTensor elsewhere(std::move(taken_));
    one_.method = AlsMethod{};
    one_.rank = 1;
    save(whole_model(), folder_ / "model.h5");
  }

  TensorFile made(const std::filesystem::path& path) {
    ingest_coordinates({.coordinates = {rows_, columns_}, .values = values_}, path);
    return TensorFile(path);
  }

  void expect_refused(const std::vector<Misuse>& misuses) {
    for (std::size_t i = 0; i < misuses.size(); ++i) {
      const auto& [function, call] = misuses[i];
      SCOPED_TRACE("row " + std::to_string(i) + ", " + function);
      try {
        call();
        ADD_FAILURE() << "accepted";
      } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::invalid_argument) << error.what();
      } catch (const std::exception& error) {
        ADD_FAILURE() << "no Error: " << error.what();
      }
    }
  }

  CpdOptions with(const std::function<void(CpdOptions&)>& change) const {
    CpdOptions options = one_;
    change(options);
    return options;
  }

  std::vector<Misuse> of_tensors();
  std::vector<Misuse> of_fits();
  std::vector<Misuse> of_models();
  std::vector<Misuse> of_outputs();

  TemporaryFolder folder_;
  std::vector<std::uint64_t> rows_{0, 1, 2, 2};
  std::vector<std::uint64_t> columns_{0, 1, 0, 1};
  std::vector<double> values_{1, 2, 3, 4};
  std::vector<double> ones_ = std::vector<double>(3, 1.0);
  TensorFile file_;
  MemoryTensor memory_;
  MemoryTensor taken_;  // moved from
  CpdOptions one_;
};

std::vector<Misuse> Misuses::of_tensors() {
  const MatrixView matrix{ones_.data(), 3, 1};
  const NonzeroVisitor visit = [](const NonzeroBlock&) { return true; };
  const FiberSink sink = [](const FiberBlock&) {};
  std::vector<Misuse> misuses{
      {"summary", [=, this] { taken_.summary(); }},
      {"shape", [=, this] { taken_.shape(); }},
      {"order", [=, this] { taken_.order(); }},
      {"nnz", [=, this] { taken_.nnz(); }},
      {"labels", [=, this] { taken_.labels(); }},
      {"TensorFile", [=, this] { TensorFile(folder_ / "model.h5"); }},
      {"find_mode", [=, this] { find_mode(file_.summary(), "9"); }},
      {"find_mode", [=, this] { find_mode(file_.summary(), ""); }},
      {"for_each_nonzero", [=, this] { for_each_nonzero(file_, {}); }},
      {"for_each_nonzero", [=, this] { for_each_nonzero(taken_, visit); }},
      {"for_each_nonzero", [=, this] { for_each_nonzero(file_, visit, {.threads = -1}); }},
      {"read_coordinates", [=, this] { read_coordinates(taken_); }},
      {"read_coordinates", [=, this] { read_coordinates(file_, {.threads = -1}); }},
      {"NonzeroCursor", [=, this] { NonzeroCursor{taken_}; }},
      {"NonzeroCursor", [=, this] { NonzeroCursor(file_, {.threads = 5000}); }},
      {"next",
       [=, this] {
         NonzeroCursor cursor(file_);
         const NonzeroCursor other(std::move(cursor));
         cursor.next();
       }},
      {"measure_statistics", [=, this] { measure_statistics(file_, {}, -1); }},
      {"measure_statistics", [=, this] { measure_statistics(taken_); }},
      {"verify", [=, this] { verify(file_, {}, -1); }},
      {"verify", [=, this] { verify(taken_); }},
      {"for_each_fiber", [=, this] { for_each_fiber(file_, 0, matrix, {}); }},
      {"for_each_fiber", [=, this] { for_each_fiber(file_, 7, matrix, sink); }},
      {"for_each_fiber", [=, this] { for_each_fiber(taken_, 0, matrix, sink); }},
      {"for_each_fiber",
       [=, this] {
         for_each_fiber(file_, 0, MatrixView{nullptr, 3, 1}, sink);
       }},
      {"for_each_fiber", [=, this] { for_each_fiber(file_, 0, matrix, sink, {.threads = -2}); }},
      {"ttm", [=, this] { ttm(file_, 1, matrix); }},
      {"ttm", [=, this] { ttm(taken_, 0, matrix); }},
      {"write_ttm",
       [=, this] {
         write_ttm(file_, 0, MatrixView{ones_.data(), 3, 0}, folder_ / "out.h5");
       }},
      {"write_ttm", [=, this] { write_ttm(taken_, 0, matrix, folder_ / "out.h5"); }},
      {"generate_text", [=, this] { generate_text({}, folder_ / "out.tns"); }},
      {"generate_text",
       [=, this] { generate_text({.shape = {3}, .nnz = 2, .skew = not_a_number}, folder_ / "out.tns"); }},
      {"generate_text", [=, this] { generate_text({.shape = {3}, .nnz = 2}, folder_ / "out.tns", -1); }},
      {"generate_container", [=, this] { generate_container({.shape = {3}}, folder_ / "out.blco"); }},
      {"generate_container",
       [=, this] { generate_container({.shape = {3}, .nnz = 2, .noise = not_a_number}, folder_ / "out.blco"); }},
      {"ingest_files", [=, this] { ingest_files({}, folder_ / "out.blco"); }},
      {"ingest_files",
       [=, this] { ingest_files({folder_.write("a.tns", "1 1 1\n")}, folder_ / "out.blco", {.threads = -1}); }},
      {"ingest_files",
       [=, this] { ingest_files({folder_.write("a.tns", "1 1 1\n")}, folder_ / "out.blco", {.chunk_nnz = 0}); }},
      {"ingest_coordinates", [=, this] { ingest_coordinates({}, folder_ / "out.blco"); }},
      {"ingest_coordinates",
       [=, this] {
         ingest_coordinates({.coordinates = {StridedView<std::uint64_t>(nullptr, 4)}}, folder_ / "out.blco");
       }},
      {"ingest_coordinates",
       [=, this] {
         ingest_coordinates({.coordinates = {rows_}, .values = StridedView<double>(nullptr, 4)}, folder_ / "out.blco");
       }},
      {"ingest_arrow",
       [=, this] {
         ArrowArrayStream stream{};
         ingest_arrow(stream, folder_ / "out.blco", {.columns = {.modes = {"a"}}});
       }},
      {"MemoryTensor", [=, this] { MemoryTensor(CoordinateArrays{}); }},
      {"MemoryTensor",
       [=, this] {
         MemoryTensor(CoordinateArrays{.coordinates = {rows_, StridedView<std::int32_t>(nullptr, 4)}});
       }},
      {"MemoryTensor", [=, this] { MemoryTensor(CoordinateArrays{.coordinates = {rows_}}, {.threads = -1}); }},
      {"MemoryTensor",
       [=, this] {
         ArrowArrayStream stream{};
         MemoryTensor(stream, {.columns = {.modes = {"a"}}});
       }},
      {"Labels", [=, this] { Labels(std::vector<std::string>{""}); }},
      {"check_parameter", [=, this] { check_parameter({.kind = LossKind::huber, .parameter = not_a_number}); }},
  };
  return misuses;
}

std::vector<Misuse> Misuses::of_fits() {
  const auto fit_with = [this](const std::function<void(CpdOptions&)>& change) {
    return Misuse{"fit_cpd", [this, options = with(change)] { fit_cpd(file_, options); }};
  };
  std::vector<Misuse> misuses{
      fit_with([](CpdOptions& options) { options.rank = -1; }),
      fit_with([](CpdOptions& options) { options.max_sweeps = 0; }),
      fit_with([](CpdOptions& options) { options.tolerance = not_a_number; }),
      fit_with([](CpdOptions& options) { options.ridge = not_a_number; }),
      fit_with([](CpdOptions& options) { options.time_limit_seconds = not_a_number; }),
      fit_with([](CpdOptions& options) { options.compute.threads = -1; }),
      fit_with([](CpdOptions& options) { options.compute.devices = {""}; }),
      fit_with([](CpdOptions& options) { options.method = AlsMethod{.constraints = {{.set = RowSet::box}}}; }),
      fit_with([](CpdOptions& options) {
        options.method = AlsMethod{.constraints = std::vector<RowConstraint>(2, {.l1 = not_a_number})};
      }),
      fit_with([](CpdOptions& options) {
        options.method = AlsMethod{
            .constraints = std::vector<RowConstraint>(2, {.set = RowSet::box, .lower = not_a_number, .upper = 1})};
      }),
      fit_with([](CpdOptions& options) { options.method = AprMethod{.kappa = not_a_number}; }),
      fit_with([](CpdOptions& options) { options.method = AprMethod{.floor = not_a_number}; }),
      fit_with([](CpdOptions& options) { options.method = AprMethod{.inner = 0}; }),
      fit_with([](CpdOptions& options) {
        options.method = GcpMethod{.loss = {.kind = LossKind::huber, .parameter = not_a_number}};
      }),
      fit_with([](CpdOptions& options) {
        options.method = GcpAdamMethod{.loss = {LossKind::huber, 1}, .learning_rate = not_a_number};
      }),
      fit_with([](CpdOptions& options) { options.method = GcpMethod{.evaluations = 0}; }),
      fit_with([this](CpdOptions& options) { options.method = CompletionMethod{.validation = &taken_}; }),
      {"fit_cpd", [&] { fit_cpd(taken_, one_); }},
      {"plan_cpd", [&] { plan_cpd(taken_, one_); }},
      {"plan_cpd", [&] { plan_cpd(file_, with([](CpdOptions& options) { options.compute.threads = -3; })); }},
      {"plan_cpd",
       [&] {
         const DeclaredGpu gpu{.memory_bytes = 1u << 30, .multiprocessors = 0};
         plan_cpd(file_, one_, &gpu);
       }},
      {"fit_starts", [&] { fit_starts(file_, one_, 0); }},
      {"fit_starts", [&] { fit_starts(taken_, one_, 2); }},
      {"fit_starts", [&] { fit_starts(file_, TuckerOptions{.ranks = {1}}, 0); }},
      {"fit_starts", [&] { fit_starts(file_, TuckerOptions{}, 2); }},
      {"plan_starts",
       [&] {
         plan_starts(file_, TuckerOptions{.ranks = {9, 9}}, 2);
       }},
      {"plan_starts", [&] { plan_starts(file_, one_, -1); }},
      {"options_of_model", [&] { options_of_model(folder_ / "tensor.blco"); }},
      {"mttkrp", [&] { mttkrp(file_, {}, 0); }},
      {"mttkrp", [&] { mttkrp(file_, whole_model().matrices(), 2); }},
      {"mttkrp", [&] { mttkrp(file_, whole_model().matrices(), -1); }},
      {"mttkrp",
       [&] {
         const CpdModel model = whole_model();
         mttkrp(taken_, model.matrices(), 0);
       }},
      {"mttkrp",
       [&] {
         mttkrp(file_, std::vector<MatrixView>{{nullptr, 3, 1}, {nullptr, 2, 1}}, 0);
       }},
      {"mttkrp",
       [&] {
         CpdModel model = whole_model();
         model.factors[1][3] = not_a_number;
         mttkrp(file_, model.matrices(), 0);
       }},
      {"mttkrp",
       [&] {
         const CpdModel model = whole_model();
         mttkrp(file_, model.matrices(), 0, {.threads = -1});
       }},
      {"evaluate", [&] { evaluate(file_, {}, {}); }},
      {"evaluate",
       [&] {
         evaluate(file_, std::vector<MatrixView>{{nullptr, 3, 1}, {nullptr, 2, 1}}, {});
       }},
      {"evaluate",
       [&] {
         const CpdModel model = whole_model();
         evaluate(file_, model.matrices(), {.kind = LossKind::gamma});
       }},
      {"evaluate",
       [&] {
         const CpdModel model = whole_model();
         evaluate(taken_, model.matrices(), {});
       }},
      {"ranks_of",
       [&] {
         ranks_of({.ranks = {-1}}, {3, 2});
       }},
      {"ranks_of",
       [&] {
         ranks_of({.ranks = {1, 1, 1}}, {3, 2});
       }},
      {"plan_tucker",
       [&] {
         plan_tucker(file_, {.ranks = {9, 9}});
       }},
      {"plan_tucker", [&] { plan_tucker(taken_, {.ranks = {1}}); }},
      {"fit_tucker", [&] { fit_tucker(taken_, {.ranks = {1}}); }},
      {"fit_tucker_to_error", [&] { fit_tucker_to_error(taken_, {}, 0.5); }},
      {"fit_tucker_to_error", [&] { fit_tucker_to_error(file_, {}, not_a_number); }},
      {"fit_tucker_to_error",
       [&] {
         fit_tucker_to_error(file_, {.ranks = {9, 9}}, 0.5);
       }},
      {"fit_tucker_to_error", [&] { fit_tucker_to_error(file_, {.ranks = {1}, .max_sweeps = 0}, 0.5); }},
      {"fit_tucker_to_error",
       [&] { fit_tucker_to_error(file_, {.ranks = {1}, .time_limit_seconds = not_a_number}, 0.5); }},
      {"plan_tucker_to_error", [&] { plan_tucker_to_error(file_, {}, 0); }},
      {"fit_tucker", [&] { fit_tucker(file_, {.ranks = {1}, .tolerance = not_a_number}); }},
      {"fit_tucker", [&] { fit_tucker(file_, {.ranks = {1}, .compute = {.threads = -1}}); }},
      {"serve",
       [&] {
         NoPeers peers;
         serve({}, {}, peers);
       }},
      {"choose_rank",
       [&] {
         choose_rank(std::vector<RankedFit>{{.rank = 1, .fit = not_a_number}, {.rank = 2}});
       }},
      {"fit_ranks",
       [&] {
         fit_ranks(taken_, one_, std::vector{1, 2});
       }},
      {"fit_ranks",
       [&] {
         fit_ranks(file_, one_, std::vector{1, -2});
       }},
      {"fit_ranks", [&] { fit_ranks(file_, one_, std::vector{1}, {.starts = 0}); }},
      {"core_consistency", [&] { core_consistency(taken_, whole_model()); }},
      {"core_consistency", [&] { core_consistency(file_, whole_model(), {.threads = -1}); }},
      {"core_consistency", [&] { core_consistency(file_, whole_model(), {}, {}, not_a_number); }},
  };
  for (CpdModel& model : broken_models()) {
    misuses.push_back(
        {"fit_cpd", [&, model] { fit_cpd(file_, with([&](auto& options) { options.initial = &model; })); }});
    misuses.push_back({"core_consistency", [&, model] { core_consistency(file_, model); }});
  }
  for (const std::size_t n : {0, 1}) {
    CpdModel model = whole_model();
    model.factors[n].back() = not_a_number;
    misuses.push_back({"fit_cpd", [&, model] {
                         fit_cpd(file_, with([&](auto& options) {
                                   options.rank = 2;
                                   options.initial = &model;
                                 }));
                       }});
    TuckerModel tucker = whole_tucker();
    tucker.factors[n].back() = not_a_number;
    misuses.push_back({"fit_tucker", [&, tucker] { fit_tucker(file_, {.ranks = {2}, .initial = &tucker}); }});
  }
  for (const TuckerModel& model : broken_tuckers()) {
    if (model.factors.size() == 2 && model.core.size() < 4 && model.ranks == whole_tucker().ranks) continue;
    misuses.push_back({"fit_tucker", [&, model] { fit_tucker(file_, {.ranks = {2}, .initial = &model}); }});
  }
  return misuses;
}

std::vector<Misuse> Misuses::of_models() {
  const std::vector<std::uint64_t> cell{2, 1};
  const TextSink text = [](std::string_view) {};
  const PredictionSink sink = [](const PredictionBlock&) {};
  const std::vector<IndexView> cells{rows_, columns_};
  std::vector<Misuse> misuses{
      {"value",
       [=, this] {
         whole_model().value(std::vector<std::uint64_t>{3, 0});
       }},
      {"value", [=, this] { whole_model().value({}); }},
      {"top", [=, this] { whole_model().top(2, 0, 1); }},
      {"top", [=, this] { whole_model().top(0, 2, 1); }},
      {"value", [=, this] { whole_tucker().value(std::vector<std::uint64_t>{0}); }},
      {"top", [=, this] { whole_tucker().top(0, 2, 1); }},
      {"summarize_components", [=, this] { summarize_components(whole_model(), {.small = not_a_number}); }},
      {"predict", [=, this] { predict(whole_model(), std::vector<IndexView>{rows_}); }},
      {"predict",
       [=, this] {
         predict(whole_model(), std::vector<IndexView>{rows_, StridedView<std::uint32_t>(nullptr, 4)});
       }},
      {"predict", [=, this] { predict(whole_model(), cells, -1); }},
      {"load_model", [=, this] { load_model(folder_ / "tensor.blco"); }},
      {"load_tucker", [=, this] { load_tucker(folder_ / "tensor.blco"); }},
      {"principal_angles",
       [=, this] {
         TuckerModel other = whole_tucker();
         std::swap(other.shape[0], other.shape[1]);
         std::swap(other.factors[0], other.factors[1]);
         principal_angles(whole_tucker(), other);
       }},
      {"save", [=, this] { save(file_, folder_ / "out.blco", {.threads = -1}); }},
      {"save", [=, this] { save(taken_, folder_ / "out.blco"); }},
      {"save", [=, this] { save(file_, folder_ / "out.blco", {.zstd_level = -1}); }},
      {"export_text", [=, this] { export_text(file_, TextSink()); }},
      {"export_text", [=, this] { export_text(taken_, text); }},
      {"export_text", [=, this] { export_text(file_, text, {.index_base = 7}); }},
      {"export_text", [=, this] { export_text(file_, text, {.threads = -1}); }},
      {"export_text", [=, this] { export_text(file_, folder_ / "out.doc"); }},
      {"export_model", [=, this] { export_model(whole_model(), folder_ / "out", ArrayFormat::npy, {}, 7); }},
      {"write_report", [=, this] { write_report(whole_model(), TextSink()); }},
      {"write_report", [=, this] { write_report(whole_model(), text, {.index_base = -5}); }},
      {"write_report", [=, this] { write_report(whole_model(), text, {.tensor = &taken_}); }},
      {"write_report", [=, this] { write_report(whole_tucker(), TextSink()); }},
      {"write_report", [=, this] { write_report(whole_tucker(), text, {.tensor = &file_}); }},
      {"write_report", [=, this] { write_report(file_, TextSink()); }},
      {"write_report", [=, this] { write_report(file_, text, {.threads = -1}); }},
      {"write_report", [=, this] { write_report(taken_, text); }},
      {"predict", [=, this] { predict(folder_ / "model.h5", taken_, sink); }},
      {"predict", [=, this] { predict(folder_ / "model.h5", file_, sink, {.threads = -1}); }},
      {"write_predictions",
       [=, this] { write_predictions(folder_ / "model.h5", folder_ / "tensor.blco", TextSink(), TextFormat::csv); }},
      {"write_predictions",
       [=, this] { write_predictions(folder_ / "model.h5", folder_ / "tensor.blco", text, TextFormat::tns); }},
  };
  const CpdModel whole = whole_model();
  for (const CpdModel& model : broken_models()) {
    const std::vector<Misuse> of_model{
        {"value", [=] { model.value(cell); }},
        {"top", [=] { model.top(1, 1, 5); }},
        {"matrices", [=] { model.matrices(); }},
        {"component_weights", [=] { component_weights(model); }},
        {"summarize_components", [=] { summarize_components(model); }},
        {"find_cancellation", [=] { find_cancellation(model); }},
        {"match_components", [=] { match_components(model, whole); }},
        {"match_components", [=] { match_components(whole, model); }},
        {"save", [=, this] { save(model, folder_ / "out.h5"); }},
        {"export_model", [=, this] { export_model(model, folder_ / "out"); }},
        {"write_report", [=] { write_report(model, text); }},
        {"predict", [=] { predict(model, cells); }},
        {"predict", [=, this] { predict(model, file_, sink); }},
        {"write_predictions", [=, this] { write_predictions(model, folder_ / "tensor.blco", text, TextFormat::csv); }},
    };
    misuses.insert(misuses.end(), of_model.begin(), of_model.end());
  }
  const TuckerModel whole_one = whole_tucker();
  for (const TuckerModel& model : broken_tuckers()) {
    const std::vector<Misuse> of_model{
        {"value", [=] { model.value(cell); }},
        {"top", [=] { model.top(1, 1, 5); }},
        {"top_of_core", [=] { model.top_of_core(5); }},
        {"principal_angles", [=] { principal_angles(model, whole_one); }},
        {"principal_angles", [=] { principal_angles(whole_one, model); }},
        {"save", [=, this] { save(model, folder_ / "out.h5"); }},
        {"export_model", [=, this] { export_model(model, folder_ / "out"); }},
        {"write_report", [=] { write_report(model, text); }},
    };
    misuses.insert(misuses.end(), of_model.begin(), of_model.end());
  }
  return misuses;
}

// What would replace what it reads.
std::vector<Misuse> Misuses::of_outputs() {
  const std::filesystem::path tensor = folder_ / "tensor.blco";
  std::filesystem::create_hard_link(tensor, folder_ / "linked.csv");
  std::filesystem::create_hard_link(folder_ / "model.h5", folder_ / "model.csv");
  const std::filesystem::path link = folder_ / "linked.csv";
  const MatrixView matrix{ones_.data(), 3, 1};
  return {
      {"fit_cpd", [=, this] { fit_cpd(file_, with([&](CpdOptions& options) { options.checkpoint = tensor; })); }},
      {"fit_cpd",
       [=, this] {
         fit_cpd(memory_, with([&](CpdOptions& options) {
                   options.method = CompletionMethod{.validation = &file_};
                   options.output = tensor;
                 }));
       }},
      {"fit_tucker", [=, this] { fit_tucker(file_, {.ranks = {1}, .output = tensor}); }},
      {"save", [=, this] { save(file_, tensor); }},
      {"export_text", [=, this] { export_text(file_, link); }},
      {"write_ttm", [=, this] { write_ttm(file_, 0, matrix, tensor); }},
      {"write_report", [=, this] { write_report(file_, tensor); }},
      {"write_report", [=, this] { write_report(whole_model(), tensor, {.tensor = &file_}); }},
      {"write_predictions", [=, this] { write_predictions(folder_ / "model.h5", tensor, link); }},
      {"write_predictions", [=, this] { write_predictions(folder_ / "model.h5", tensor, folder_ / "model.csv"); }},
      {"ingest_files", [=, this] { ingest_files({folder_.write("b.tns", "1 1 1\n")}, folder_ / "b.tns"); }},
      {"ingest_coordinates",
       [=, this] {
         const std::filesystem::path names = folder_.write("names.txt", "a\nb\nc\n");
         ingest_coordinates({.coordinates = {rows_, columns_}}, names, {.label_files = {{"0", names}}});
       }},
  };
}

TEST_F(Misuses, OfTensorsAreRefused) { expect_refused(of_tensors()); }
TEST_F(Misuses, OfFitsAreRefused) { expect_refused(of_fits()); }
TEST_F(Misuses, OfModelsAreRefused) { expect_refused(of_models()); }

TEST_F(Misuses, OutputsThatAreInputsAreRefusedAndStay) {
  expect_refused(of_outputs());

  EXPECT_EQ(TensorFile(folder_ / "tensor.blco").nnz(), 4);
  EXPECT_EQ(load_model(folder_ / "model.h5").rank, 2);
}

// Of functions at the margin of a header's namespace.
std::set<std::string> declared_functions(const std::filesystem::path& header) {
  static const std::regex declaration(
      R"(^(?!using |struct |class |template|#|//|extern )[A-Za-z][\w:<>,\*& ]*[ \*&](\w+)\()");
  std::set<std::string> names;
  std::ifstream text(header);
  for (std::string line; std::getline(text, line);) {
    std::smatch found;
    if (std::regex_search(line, found, declaration)) names.insert(found[1]);
  }
  return names;
}

TEST_F(Misuses, AreOfEachPublicFunction) {
  // Any argument of their types has an answer; dismiss() takes peers alone, and is_model() and is_tucker() never throw.
  // has_trailer() fails only where a file cannot be read.
  // Those of the table of options, from set_options on, have tests of their own.
  std::set<std::string> known{"max_sweeps_of",
                              "tolerance_of",
                              "has_momentum",
                              "name_of",
                              "has_fit",
                              "fitted_method",
                              "to_string",
                              "budget_note",
                              "sums_over_zeros",
                              "core_columns",
                              "is_model",
                              "is_tucker",
                              "has_trailer",
                              "parent_of",
                              "subtree_end",
                              "children_of",
                              "dismiss",
                              "size_of",
                              "memory_bytes",
                              "is_valid",
                              "parse_loss",
                              "loss_names",
                              "loss_parameter_ranges",
                              "version",
                              "has_core_consistency",
                              "parse_duplicate_policy",
                              "for_each_field",
                              "set_options",
                              "check_value",
                              "check_ranges",
                              "constrain",
                              "find_option",
                              "kept_options",
                              "take_kept",
                              "words_of_default",
                              "cpd_option_table",
                              "compute_option_table"};
  for (const auto& rows : {of_tensors(), of_fits(), of_models(), of_outputs()}) {
    for (const Misuse& row : rows) known.insert(row.function);
  }
  const std::filesystem::path root = std::filesystem::path(__FILE__).parent_path().parent_path().parent_path();
  const std::filesystem::path headers = root / "engine" / "include" / "blco";
  std::vector<std::filesystem::path> files(std::filesystem::directory_iterator(headers), {});
  for (const char* name : {"input_reading.hpp", "labels.hpp", "loss.hpp"}) files.push_back(root / "blco" / name);
  ASSERT_GT(files.size(), 20);
  std::set<std::string> missing;
  std::set<std::string> all;

  for (const std::filesystem::path& file : files) {
    for (const std::string& name : declared_functions(file)) {
      all.insert(name);
      if (!known.contains(name)) missing.insert(name + " of " + file.filename().string());
    }
  }

  EXPECT_THAT(missing, testing::IsEmpty());
  EXPECT_TRUE(all.contains("fit_cpd") && all.contains("principal_angles") && all.contains("loss_names"));
}

}  // namespace
}  // namespace blco
