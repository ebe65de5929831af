// What a line of FROSTT text may hold, and how a refusal is worded.
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "tests/io/text/read_tns.hpp"

namespace blco {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

class TnsFields : public TnsText {};

TEST_F(TnsFields, OrdersFromOneToSixteenAreRead) {
  std::string line;
  for (int order = 1; order <= 16; ++order) {
    line += std::to_string(order) + " ";
    EXPECT_EQ(read(line + "5\n" + line + "6\n").order, order);
  }

  EXPECT_THAT(refused("\n" + line + "17 5\n"), AllOf(HasSubstr(place(2)), HasSubstr("at most 16")));
}

TEST_F(TnsFields, CoordinatesOfUpTo64BitsAreRead) {
  EXPECT_THAT(read("4294967296 5\n").coordinates, ElementsAre(4294967295));
  EXPECT_THAT(read("7 5\n4294967297 5\n3 5\n").coordinates, ElementsAre(6, 4294967296, 2));
  EXPECT_THAT(read("18446744073709551615 5\n").coordinates, ElementsAre(18446744073709551614U));
  EXPECT_THAT(read("18446744073709551614 5\n", {.index_base = 0}).coordinates, ElementsAre(18446744073709551614U));
  EXPECT_THAT(read("0000000000000000000000000012 5\n").coordinates, ElementsAre(11));
  EXPECT_THAT(read("1234567 5\n12345678 5\n123456789 5\n1234567890123456 5\n12345678901234567 5\n").coordinates,
              ElementsAre(1234566, 12345677, 123456788, 1234567890123455, 12345678901234566));

  EXPECT_THAT(refused("18446744073709551616 5\n"), HasSubstr("too large"));
  EXPECT_THAT(refused("18446744073709551615 5\n", {.index_base = 0}), HasSubstr("too large"));
}

// As numpy.savetxt writes them.
TEST_F(TnsFields, RealsThatAreWholeAreCoordinates) {
  EXPECT_THAT(read("1.000000000000000000e+00 2.5\n20.0 1\n3e2 1\n4. 1\n9007199254740992.0 1\n").coordinates,
              ElementsAre(0, 19, 299, 3, 9007199254740991));
  EXPECT_THAT(refused("1 1\n0.0 1\n"), AllOf(HasSubstr(place(2)), HasSubstr("is 0")));
  EXPECT_THAT(read("0.0 1\n7.0 1\n", {.index_base = 0}).coordinates, ElementsAre(0, 7));
}

TEST_F(TnsFields, WhatIsNoWholeNumberIsNoCoordinate) {
  for (const std::string field : {"1.5", "+1", "1e-3", "-1.0", "9007199254740994.0", "1e400", "0x1", "1_000", "1.0.",
                                  "i", "1;", "\"1\"", "\xc2\xb2", "."}) {
    EXPECT_THAT(refused("1 1 1\n1 1 1\n1 " + field + " 1\n"), HasSubstr(place(3))) << field;
  }
}

TEST_F(TnsFields, ValuesAreRoundedCorrectly) {
  std::mt19937_64 random(8);
  std::vector<std::string> fields = {"-0",
                                     "4.9e-324",
                                     "2e-324",
                                     "1e-310",
                                     "1e22",
                                     "1e23",
                                     "9007199254740993",
                                     "12345678.12345678",
                                     "90071992.54740993",
                                     "123456789.5",
                                     "0.1",
                                     "1E+2",
                                     "1.7976931348623157e308",
                                     "0.000001",
                                     "00000000000000000001",
                                     "1.50",
                                     "99999999"};
  for (int i = 0; i < 20'000; ++i) {
    std::string field(random() % 2, '-');
    field += std::to_string(random() >> random() % 64);
    if (random() % 2) field.append(".").append(std::to_string(random() >> random() % 64));
    if (random() % 4 == 0) field.append("e").append(std::to_string(static_cast<int>(random() % 500) - 250));
    fields.push_back(field);
  }
  std::string text;
  for (const std::string& field : fields) text += "1 " + field + "\n";

  const Entries entries = read(text);

  ASSERT_EQ(entries.values.size(), fields.size());
  for (std::size_t i = 0; i < fields.size(); ++i) {
    ASSERT_EQ(bits(entries.values[i]), bits(std::strtod(fields[i].c_str(), nullptr))) << fields[i];
  }
}

TEST_F(TnsFields, ValuesTooSmallForADoubleAreZeros) {
  const std::string tiny = std::string("0.") + std::string(400, '0') + "1";

  const Entries entries = read("1 1e-400\n1 -1e-400\n1 1e-99999999999999999999\n1 0e99999999999999999999\n1 " + tiny +
                               "\n1 " + tiny + "e400\n");

  ASSERT_EQ(entries.values.size(), 6U);
  EXPECT_EQ(bits(entries.values[0]), bits(0.0));
  EXPECT_EQ(bits(entries.values[1]), bits(-0.0));
  for (int i = 2; i < 5; ++i) EXPECT_EQ(bits(entries.values[static_cast<std::size_t>(i)]), bits(0.0)) << i;
  EXPECT_EQ(entries.values[5], 0.1);
}

TEST_F(TnsFields, ValuesThatAreNotFiniteAreRefused) {
  for (const std::string field : {"nan", "NaN", "-nan", "inf", "-inf", "+inf", "infinity"}) {
    EXPECT_THAT(refused("1 1\n2 " + field + "\n"), AllOf(HasSubstr(place(2)), HasSubstr("not finite"))) << field;
  }
  for (const std::string field : {"1e999", "-1e999", "1e99999999999999999999", "1.8e308"}) {
    EXPECT_THAT(refused("1 1\n2 " + field + "\n"), AllOf(HasSubstr(place(2)), HasSubstr("too large"))) << field;
  }
  EXPECT_THAT(refused(std::string("1 1\n2 1") + std::string(400, '0') + "\n"), HasSubstr("too large"));
}

TEST_F(TnsFields, WhatIsNoNumberIsNoValue) {
  for (const std::string field : {"abc", "-", "+", ".", "--1", "+-1", "-+1", "1e", "1x", "0x10", "1.2.3", "1-", "e5",
                                  "1\x01", "1;", "1#", "0x", "12345678x", "1\xff"}) {
    EXPECT_THAT(refused("1 1\n2 " + field + "\n"), AllOf(HasSubstr(place(2)), HasSubstr("not a number"))) << field;
  }
  EXPECT_THAT(refused(std::string("1 1\n2 1\0\n", 9)), AllOf(HasSubstr(place(2)), HasSubstr("not a number")));
}

TEST_F(TnsFields, LinesOfAnotherLengthAreRefused) {
  EXPECT_THAT(refused("1 1 1\n1 1\n"), AllOf(HasSubstr(place(2) + ": 2 fields"), HasSubstr(place(1) + " has 3")));
  EXPECT_THAT(refused("#\n1 1 1\n1 1 1 1\n"), AllOf(HasSubstr(place(3) + ": 4 fields"), HasSubstr(place(2))));
  EXPECT_THAT(refused("1 1 1 # one\n"), HasSubstr(place(1)));
  EXPECT_THAT(refused("5\n"), AllOf(HasSubstr(place(1)), HasSubstr("1 field")));
}

TEST_F(TnsFields, MessagesHintAtTheRemedy) {
  EXPECT_THAT(refused("1,1,5.0\n"), AllOf(HasSubstr(place(1)), HasSubstr("CSV")));
  EXPECT_THAT(refused("1 1 5,0\n"), AllOf(HasSubstr(place(1)), HasSubstr("CSV")));
  EXPECT_THAT(refused("# c\nrow col val\n1 1 1\n"), AllOf(HasSubstr(place(2)), HasSubstr("`skip_lines = 2`")));
  EXPECT_THAT(refused("header\n1 1 1\n"), HasSubstr("`skip_lines = 1`"));
  EXPECT_THAT(refused("1 1 1\n1 1 x\n"), Not(HasSubstr("skip_lines")));
  EXPECT_THAT(refused("\xef\xbb\xbf"
                      "1 1 1\n"),
              AllOf(HasSubstr(place(1)), HasSubstr("byte order mark")));
  EXPECT_THAT(refused("1 1 1\r1 1 1\r"), HasSubstr("carriage return"));
}

TEST_F(TnsFields, MessagesShowLittleAndPrintableText) {
  const std::string message = refused(std::string("1 1 1\n1 1 \x1b[31m") + std::string(500, 'z') + "\n");

  EXPECT_LT(message.size(), 200 + folder_.path().string().size());
  EXPECT_THAT(message, HasSubstr("'?[31mzzzz"));
  EXPECT_EQ(message.find('\x1b'), std::string::npos);
}

TEST_F(TnsFields, LinesLongerThanOneMebibyteAreRefused) {
  const std::string long_comment = std::string("#") + std::string((1 << 20) - 2, 'x') + "\n";
  const std::string longer_comment = std::string("#") + std::string(1 << 20, 'x') + "\n";
  const std::string blanks = std::string("1 1") + std::string(1 << 20, ' ') + "\n";

  for (const std::size_t block_bytes : {100, 512 << 10, 4 << 20}) {
    const TnsOptions options{.block_bytes = block_bytes};
    EXPECT_THAT(read("1 1\n" + long_comment + "2 2\n", options).values, ElementsAre(1, 2));
    EXPECT_THAT(refused("1 1\n" + longer_comment + "2 2\n", options), AllOf(HasSubstr(place(2)), HasSubstr("1 MiB")));
    EXPECT_THAT(refused("1 1\n\n" + blanks + "2 2\n", options), AllOf(HasSubstr(place(3)), HasSubstr("1 MiB")));
    EXPECT_THAT(refused(std::string("1 1\n") + std::string(3 << 20, '1'), options),
                AllOf(HasSubstr(place(2)), HasSubstr("1 MiB")));
  }
}

}  // namespace
}  // namespace blco
