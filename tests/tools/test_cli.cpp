// Arguments and numbers of the command lines: what is accepted, what is refused, and how it is printed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <limits>
#include <new>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "tests/temporary_folder.hpp"
#include "tools/programs/cli.hpp"
#include "tools/programs/cpd_program.hpp"
#include "tools/programs/reporter.hpp"

namespace blco::cli {
namespace {

using testing::ElementsAre;

template <class Call>
ErrorKind kind_of_error(Call call) {
  try {
    call();
  } catch (const Error& error) {
    return error.kind();
  }
  ADD_FAILURE() << "no Error";
  return ErrorKind::not_built;
}

TEST(ParseSize, TakesBinaryAndDecimalUnits) {
  EXPECT_EQ(parse_size("1"), 1u);
  EXPECT_EQ(parse_size("1048576"), 1048576u);
  EXPECT_EQ(parse_size("17B"), 17u);
  EXPECT_EQ(parse_size("64M"), 64u << 20);
  EXPECT_EQ(parse_size("512MiB"), 512u << 20);
  EXPECT_EQ(parse_size("512mib"), 512u << 20);
  EXPECT_EQ(parse_size("1G"), 1u << 30);
  EXPECT_EQ(parse_size("2GiB"), std::uint64_t{2} << 30);
  EXPECT_EQ(parse_size("1.5GiB"), std::uint64_t{3} << 29);
  EXPECT_EQ(parse_size("3KB"), 3000u);
  EXPECT_EQ(parse_size("2MB"), 2000000u);
  EXPECT_EQ(parse_size("4TB"), 4000000000000u);
  EXPECT_EQ(parse_size("1048576TiB"), std::uint64_t{1} << 60);
}

TEST(ParseSize, RefusesWhatIsNoSize) {
  for (const char* text : {"", "0", "0.1", "M", "-1", "+1", " 1", "1 M", "1X", "1MBB", "1e6", "inf", "nan", "0x10",
                           "1048577TiB", "99999999999999999999999"}) {
    EXPECT_EQ(kind_of_error([&] { parse_size(text); }), ErrorKind::invalid_argument) << text;
  }
}

TEST(ParseShape, TakesLengthsOfUpTo64Bits) {
  EXPECT_THAT(parse_shape("7"), ElementsAre(7));
  EXPECT_THAT(parse_shape("1x2x18446744073709551615"), ElementsAre(1, 2, std::numeric_limits<std::uint64_t>::max()));
}

TEST(ParseShape, RefusesWhatIsNoShape) {
  for (const char* text :
       {"", "x", "1x", "x1", "1xx2", "0", "1x0", "1x-2", "1x2.5", "1X2", "1,2", "18446744073709551616"}) {
    EXPECT_EQ(kind_of_error([&] { parse_shape(text); }), ErrorKind::invalid_argument) << text;
  }
}

TEST(Reporter, NotesALineOfSeveralThreadsOnce) {
  const auto printed_with = [](std::vector<std::string> words) {
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    const int count = static_cast<int>(arguments.size());
    arguments.push_back(nullptr);
    CommandLine line(words[0], "Tests.", "  blco-test");
    Reporter reporter(line, count, arguments.data());
    testing::internal::CaptureStderr();
    line.run(count, arguments.data(), [&] {
      const auto note = reporter.notes_of_threads();
      std::thread([copy = note] { copy("it takes minutes"); }).join();
      note("it takes minutes");
      note("it takes hours");
    });
    return testing::internal::GetCapturedStderr();
  };

  EXPECT_EQ(printed_with({"blco-test"}), "blco-test: it takes minutes\nblco-test: it takes hours\n");
  EXPECT_EQ(printed_with({"blco-test", "--quiet"}), "");
  EXPECT_EQ(printed_with({"blco-test", "--json"}), "");
}

TEST(ParseNames, KeepsOrderAndRefusesEmptyOnes) {
  EXPECT_THAT(parse_names("who,what of it,when"), ElementsAre("who", "what of it", "when"));
  EXPECT_THAT(parse_names("5\" disk, who , when"), ElementsAre("5\" disk", "who", "when"));
  EXPECT_THAT(parse_names("\"day, hour\", \"a \"\"b\"\"\",\" x \":y ,z"),
              ElementsAre("day, hour", "a \"b\"", " x :y", "z"));

  for (const char* text : {"", ",", "a,", ",a", "a,,b", "a, ,b", "\"\"", "\"a", "a,\"b\"\""}) {
    EXPECT_EQ(kind_of_error([&] { parse_names(text); }), ErrorKind::invalid_argument) << text;
  }
}

TEST(ParseCompression, TakesWordsAndLevelsFrom1To19) {
  using LevelAndSaving = std::pair<int, int>;
  EXPECT_EQ(parse_compression("none").first, 0);
  EXPECT_EQ(parse_compression("fast"), parse_compression("zstd:3"));
  EXPECT_EQ(parse_compression("fast"), LevelAndSaving(3, 10));
  EXPECT_EQ(parse_compression("auto"), LevelAndSaving(3, 45));
  EXPECT_EQ(parse_compression("small").second, 0);
  EXPECT_GT(parse_compression("small").first, 3);
  EXPECT_EQ(parse_compression("zstd:1"), LevelAndSaving(1, 10));
  EXPECT_EQ(parse_compression("zstd:19"), LevelAndSaving(19, 10));

  for (const char* text :
       {"", "zstd", "zstd:", "zstd:0", "zstd:20", "zstd:-1", "zstd:3x", "None", "Fast", "smaller", "gzip:3"}) {
    EXPECT_EQ(kind_of_error([&] { parse_compression(text); }), ErrorKind::invalid_argument) << text;
  }
}

TEST(Printable, ShowsWhatWouldControlATerminalOrTurnText) {
  EXPECT_EQ(printable("Café \xe2\x80\xaegpj.exe"), "Café \\u202egpj.exe");
  EXPECT_EQ(printable("\x1b[31m\n\x7f\xc2\x9b\xd8\x9c"), "\\u001b[31m\\u000a\\u007f\\u009b\\u061c");
  EXPECT_EQ(printable("a\nb", std::string::npos, /*lines=*/true), "a\nb");
  EXPECT_EQ(printable("\x80 \xc3"), "\\x80 \\xc3");
  EXPECT_EQ(printable("äöü", 3), "äöü");
  EXPECT_EQ(printable("äöüß", 3), "äöü...");
}

TEST(ParseWhole, TakesTheBoundsAndNothingBeyond) {
  EXPECT_EQ(parse_whole("3", 3, 5), 3u);
  EXPECT_EQ(parse_whole("5", 3, 5), 5u);
  EXPECT_EQ(parse_whole("18446744073709551615", 0, ~std::uint64_t{0}), ~std::uint64_t{0});

  for (const char* text : {"", "2", "6", "-3", "3.0", "3 ", "x", "18446744073709551616"}) {
    EXPECT_EQ(kind_of_error([&] { parse_whole(text, 3, 5); }), ErrorKind::invalid_argument) << text;
  }
}

TEST(ParseReal, TakesFiniteNumbersFromZeroOn) {
  EXPECT_EQ(parse_real("0"), 0.0);
  EXPECT_EQ(parse_real("1e-05"), 1e-5);
  EXPECT_EQ(parse_real("2.5"), 2.5);

  for (const char* text : {"", "-1", "-0", "nan", "inf", "1e999", "1,5", "x"}) {
    EXPECT_EQ(kind_of_error([&] { parse_real(text); }), ErrorKind::invalid_argument) << text;
  }
}

TEST(FormatBytes, ChangesUnitWhereANumberWouldHaveFiveDigits) {
  EXPECT_EQ(format_bytes(0), "0 B");
  EXPECT_EQ(format_bytes(1023), "1023 B");
  EXPECT_EQ(format_bytes(1024), "1.0 KiB");
  EXPECT_EQ(format_bytes(120 << 20), "120.0 MiB");
  EXPECT_EQ(format_bytes((std::uint64_t{1} << 20) - 1), "1.0 MiB");
  EXPECT_EQ(format_bytes(std::uint64_t{3} << 29), "1.5 GiB");
  EXPECT_EQ(format_bytes(~std::uint64_t{0}), "16384.0 PiB");
}

TEST(FormatCount, SeparatesThousands) {
  EXPECT_EQ(format_count(0), "0");
  EXPECT_EQ(format_count(999), "999");
  EXPECT_EQ(format_count(1000), "1,000");
  EXPECT_EQ(format_count(2153323), "2,153,323");
  EXPECT_EQ(format_count(~std::uint64_t{0}), "18,446,744,073,709,551,615");
}

TEST(FormatShape, IsWhatParseShapeTakes) {
  const std::vector<std::uint64_t> shape{1740, 2037, 1};

  const std::string text = format_shape(shape);

  EXPECT_EQ(text, "1740x2037x1");
  EXPECT_EQ(parse_shape(text), shape);
}

TEST(FormatBits, DividesByTheNonzeros) {
  EXPECT_EQ(format_bits(3, 8), "3.00");
  EXPECT_EQ(format_bits(1, 3), "2.67");
  EXPECT_EQ(format_bits(5, 0), "0.00");
}

TEST(CheckOutput, RefusesAnInputUnderAnyName) {
  const TemporaryFolder folder;
  const std::array inputs{folder.write("a.tns", "1 1 1\n")};
  std::filesystem::create_symlink("a.tns", folder / "link.tns");

  EXPECT_EQ(kind_of_error([&] { check_output(inputs[0], inputs); }), ErrorKind::invalid_argument);
  EXPECT_EQ(kind_of_error([&] { check_output(folder / "../" / folder.path().filename() / "a.tns", inputs); }),
            ErrorKind::invalid_argument);
  EXPECT_EQ(kind_of_error([&] { check_output(folder / "link.tns", inputs); }), ErrorKind::invalid_argument);
  EXPECT_NO_THROW(check_output(folder / "b.tns", inputs));
}

TEST(CheckOutput, RefusesWhatCannotBecomeAFile) {
  const TemporaryFolder folder;

  EXPECT_EQ(kind_of_error([&] { check_output(folder.path(), {}); }), ErrorKind::io);
  EXPECT_EQ(kind_of_error([&] { check_output(folder / "no" / "b.tns", {}); }), ErrorKind::io);
  EXPECT_EQ(kind_of_error([&] { check_output("/dev/null", {}); }), ErrorKind::io);
}

TEST(NameFlags, PutsTheFlagInThePlaceOfAnOptionInBackticks) {
  const auto in_words = [](const std::string& message) {
    static const std::set<std::string> flags{"--memory", "--chunk-nnz", "--modes", "--labels-from",  "--index-base",
                                             "--every",  "--init",      "--hold",  "--device-memory"};
    return name_flags(message, [](const std::string& flag) { return flags.contains(flag); });
  };

  EXPECT_EQ(in_words("give at least `memory_bytes = 24MiB`, or lower `chunk_nnz`"),
            "give at least --memory 24MiB, or lower --chunk-nnz");
  EXPECT_EQ(in_words("`columns.modes` and `columns.labels_from`"), "--modes and --labels-from");
  EXPECT_EQ(in_words("use `device = cpu` or `chunk_nnz = 2`"), "use `device = cpu` or --chunk-nnz 2");
  EXPECT_EQ(in_words("a`b.tns: use `index_base = 0`"), "a`b.tns: use --index-base 0");
  EXPECT_EQ(in_words("see `IngestOptions.columns.labels_from`"), "see blco-ingest --labels-from");
  EXPECT_EQ(in_words("`checkpoint_sweeps`, `initial`, `held` or `device_bytes`"),
            "--every, --init, --hold or --device-memory");
  EXPECT_EQ(in_words("no option, `"), "no option, `");
  EXPECT_EQ(in_words(""), "");
}

class CommandLineRun : public testing::Test {
 protected:
  int run(std::vector<std::string> words, const std::function<void()>& job) {
    std::vector<char*> argv;
    words.insert(words.begin(), "name");
    for (std::string& word : words) argv.push_back(word.data());
    testing::internal::CaptureStderr();
    const int code = line_.run(static_cast<int>(argv.size()), argv.data(), job);
    message_ = testing::internal::GetCapturedStderr();
    return code;
  }

  CommandLine line_{"blco-test", "Tests.", "  blco-test"};
  std::string message_;
};

TEST_F(CommandLineRun, MapsEveryKindOfErrorToItsCode) {
  const std::vector<std::pair<ErrorKind, int>> codes{
      {ErrorKind::invalid_argument, 2}, {ErrorKind::io, 3},   {ErrorKind::corrupt, 4},
      {ErrorKind::out_of_memory, 5},    {ErrorKind::cuda, 6}, {ErrorKind::not_built, 7}};
  for (const auto& [kind, code] : codes) {
    EXPECT_EQ(run({}, [kind = kind] { throw Error(kind, "what happened"); }), code);
    EXPECT_EQ(message_, "blco-test: what happened\n");
  }
}

TEST_F(CommandLineRun, NamesOptionsOfTheLibraryByTheFlagsThatItHas) {
  int threads = 0;
  line_.add_threads(threads);

  run({}, [] { throw Error(ErrorKind::invalid_argument, "lower `threads`, or raise `memory_bytes`"); });

  EXPECT_EQ(message_, "blco-test: lower --threads, or raise `memory_bytes`\n");
}

TEST_F(CommandLineRun, SaysInWordsWhatIsWrongWithAnOption) {
  int threads = 0;
  line_.add_threads(threads);

  run({"--threads"}, [] {});
  EXPECT_THAT(message_, testing::HasSubstr("blco-test: --threads requires a value\n"));
  run({"--threads", "1", "--threads", "2"}, [] {});
  EXPECT_THAT(message_, testing::HasSubstr("blco-test: --threads is given more than once\n"));
  run({"--frobnicate"}, [] {});
  EXPECT_THAT(message_, testing::HasSubstr("blco-test: unknown argument: --frobnicate\n"));
}

TEST_F(CommandLineRun, MapsOtherExceptions) {
  EXPECT_EQ(run({}, [] {}), 0);
  EXPECT_EQ(message_, "");
  EXPECT_EQ(run({}, [] { throw std::bad_alloc(); }), 5);
  EXPECT_EQ(run({}, [] { throw std::logic_error("a mistake"); }), 1);
  EXPECT_EQ(message_, "blco-test: unexpected: a mistake\n");
  EXPECT_EQ(run({}, [] { throw 7; }), 1);
}

TEST_F(CommandLineRun, DoesNotRunTheJobOnWrongOptions) {
  bool ran = false;

  const int code = run({"--no-such-option"}, [&] { ran = true; });

  EXPECT_EQ(code, 2);
  EXPECT_FALSE(ran);
  EXPECT_THAT(message_, testing::HasSubstr("See blco-test --help."));
}

TEST(ReportPlan, TellsWhatEachDeviceHolds) {
  CpdPlan plan;
  plan.device = "cpu, host";
  plan.threads = 3;
  plan.planned_bytes = 5 << 20;
  plan.minimum_bytes = 4 << 20;
  CpdPlan& other = plan.others.emplace_back();
  other.device = "cuda:0, Some GPU";
  other.threads = 1;
  other.chunk_count = 12;
  other.device_chunks = 9;
  other.packed_chunks = 3;
  other.device_budget_bytes = 8 << 20;
  CommandLine line("blco-cpd", "", "");
  Reporter reporter(line, 0, nullptr);

  testing::internal::CaptureStdout();
  report_plan(reporter, plan, {});
  const std::string text = testing::internal::GetCapturedStdout();

  EXPECT_THAT(text, testing::StartsWith("plan    cpu, host, 3 threads; 0 chunks: "));
  EXPECT_THAT(text, testing::HasSubstr("\nplan    cuda:0, Some GPU, 1 thread; 12 chunks: 9 on the device, 3 packed"));
  EXPECT_THAT(text, testing::HasSubstr("\ndevice  0 B planned of a budget of 8.0 MiB"));
  EXPECT_THAT(text, testing::HasSubstr("\nmemory  5.0 MiB planned of a budget of 0 B, minimum 4.0 MiB"));
  EXPECT_THAT(text, testing::HasSubstr("\nshare   a device without a chunk has nothing to do"));
}

TEST(ReportPlan, SaysWhereProcessesCannotShareTheChunksEvenly) {
  CommandLine line("blco-cpd", "", "");
  Reporter reporter(line, 0, nullptr);
  CpdPlan plan;
  TensorSummary tensor;
  tensor.nnz = 3'000'000;
  const auto text_of = [&](int processes, std::uint64_t chunks) {
    plan.processes = processes;
    tensor.chunk_count = chunks;
    testing::internal::CaptureStdout();
    report_plan(reporter, plan, tensor);
    return testing::internal::GetCapturedStdout();
  };

  EXPECT_THAT(text_of(2, 3), testing::HasSubstr("\nshare   3 chunks cannot be shared evenly; blco-ingest --chunk-nnz "
                                                "65536 makes a tensor that can\n"));
  EXPECT_THAT(text_of(8, 1), testing::HasSubstr("\nshare   1 chunk cannot be shared evenly; blco-ingest --chunk-nnz "
                                                "16384 makes"));
  EXPECT_THAT(text_of(2, 4), testing::Not(testing::HasSubstr("evenly")));
  EXPECT_THAT(text_of(4, 15), testing::Not(testing::HasSubstr("evenly")));
  EXPECT_THAT(text_of(1, 1), testing::Not(testing::HasSubstr("share")));

  // No chunk size that is worth a chunk makes 5 shares of so few.
  for (const std::uint64_t nnz : {10U, 200U, 4096U, 4096U * 6U}) {
    tensor.nnz = nnz;
    EXPECT_THAT(text_of(5, 3), testing::HasSubstr("\nshare   3 chunks cannot be shared evenly; the tensor is too small "
                                                  "for so many processes\n"));
  }
  tensor.nnz = 4096 * 10;
  EXPECT_THAT(text_of(5, 3), testing::HasSubstr("blco-ingest --chunk-nnz 4096 makes"));
}

}  // namespace
}  // namespace blco::cli
