// Looks for keys that are not plain, and then for others that are the same once they are made plain.
#include "io/table/alike_keys.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdio>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "io/table/csv_field.hpp"
#include "io/text/quoted_text.hpp"

namespace blco {
namespace {

// Letters, each before the one that Unicode makes of it and a combining mark: the canonical compositions of two
// characters up to U+052F and from U+1E00 to U+1EFF.
struct Compositions {
  char32_t mark;
  std::u32string_view letters;
};
constexpr std::array<Compositions, 25> compositions{{
    {0x300, U"AÀEÈIÌOÒUÙaàeèiìoòuùÜǛüǜNǸnǹЕЀИЍеѐиѝĒḔēḕŌṐōṑWẀwẁÂẦâầĂẰăằÊỀêềÔỒôồƠỜơờƯỪưừYỲyỳ"},
    {0x301,
     U"AÁEÉIÍOÓUÚYÝaáeéiíoóuúyýCĆcćLĹlĺNŃnńRŔrŕSŚsśZŹzźÜǗüǘGǴgǵÅǺåǻÆǼæǽØǾøǿ¨΅ΑΆΕΈΗΉΙΊΟΌΥΎΩΏ"
     U"ϊΐαάεέηήιίϋΰοόυύωώϒϓГЃКЌгѓкќÇḈçḉĒḖēḗÏḮïḯKḰkḱMḾmḿÕṌõṍŌṒōṓPṔpṕŨṸũṹWẂwẃÂẤâấĂẮăắÊẾêếÔỐôố"
     U"ƠỚơớƯỨưứ"},
    {0x302, U"AÂEÊIÎOÔUÛaâeêiîoôuûCĈcĉGĜgĝHĤhĥJĴjĵSŜsŝWŴwŵYŶyŷZẐzẑẠẬạậẸỆẹệỌỘọộ"},
    {0x303, U"AÃNÑOÕaãnñoõIĨiĩUŨuũVṼvṽÂẪâẫĂẴăẵEẼeẽÊỄêễÔỖôỗƠỠơỡƯỮưữYỸyỹ"},
    {0x304, U"AĀaāEĒeēIĪiīOŌoōUŪuūÜǕüǖÄǞäǟȦǠȧǡÆǢæǣǪǬǫǭÖȪöȫÕȬõȭȮȰȯȱYȲyȳИӢиӣУӮуӯGḠgḡḶḸḷḹṚṜṛṝ"},
    {0x306, U"AĂaăEĔeĕGĞgğIĬiĭOŎoŏUŬuŭУЎИЙийуўЖӁжӂАӐаӑЕӖеӗȨḜȩḝẠẶạặ"},
    {0x307,
     U"CĊcċEĖeėGĠgġIİZŻzżAȦaȧOȮoȯBḂbḃDḊdḋFḞfḟHḢhḣMṀmṁNṄnṅPṖpṗRṘrṙSṠsṡŚṤśṥŠṦšṧṢṨṣṩTṪtṫWẆwẇXẊ"
     U"xẋYẎyẏſẛ"},
    {0x308,
     U"AÄEËIÏOÖUÜaäeëiïoöuüyÿYŸΙΪΥΫιϊυϋϒϔЕЁІЇеёіїАӒаӓӘӚәӛЖӜжӝЗӞзӟИӤиӥОӦоӧӨӪөӫЭӬэӭУӰуӱЧӴчӵЫӸ"
     U"ыӹHḦhḧÕṎõṏŪṺūṻWẄwẅXẌxẍtẗ"},
    {0x309, U"AẢaảÂẨâẩĂẲăẳEẺeẻÊỂêểIỈiỉOỎoỏÔỔôổƠỞơởUỦuủƯỬưửYỶyỷ"},
    {0x30a, U"AÅaåUŮuůwẘyẙ"},
    {0x30b, U"OŐoőUŰuűУӲуӳ"},
    {0x30c, U"CČcčDĎdďEĚeěLĽlľNŇnňRŘrřSŠsšTŤtťZŽzžAǍaǎIǏiǐOǑoǒUǓuǔÜǙüǚGǦgǧKǨkǩƷǮʒǯjǰHȞhȟ"},
    {0x30f, U"AȀaȁEȄeȅIȈiȉOȌoȍRȐrȑUȔuȕѴѶѵѷ"},
    {0x311, U"AȂaȃEȆeȇIȊiȋOȎoȏRȒrȓUȖuȗ"},
    {0x31b, U"OƠoơUƯuư"},
    {0x323, U"BḄbḅDḌdḍHḤhḥKḲkḳLḶlḷMṂmṃNṆnṇRṚrṛSṢsṣTṬtṭVṾvṿWẈwẉZẒzẓAẠaạEẸeẹIỊiịOỌoọƠỢơợUỤuụƯỰưựYỴyỵ"},
    {0x324, U"UṲuṳ"},
    {0x325, U"AḀaḁ"},
    {0x326, U"SȘsșTȚtț"},
    {0x327, U"CÇcçGĢgģKĶkķLĻlļNŅnņRŖrŗSŞsşTŢtţEȨeȩDḐdḑHḨhḩ"},
    {0x328, U"AĄaąEĘeęIĮiįUŲuųOǪoǫ"},
    {0x32d, U"DḒdḓEḘeḙLḼlḽNṊnṋTṰtṱUṶuṷ"},
    {0x32e, U"HḪhḫ"},
    {0x330, U"EḚeḛIḬiḭUṴuṵ"},
    {0x331, U"BḆbḇDḎdḏKḴkḵLḺlḻNṈnṉRṞrṟTṮtṯZẔzẕhẖ"},
}};

std::size_t length_at(std::string_view text, std::size_t at) {
  const auto lead = static_cast<unsigned char>(text[at]);
  const std::size_t length = lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
  return std::min(length, text.size() - at);
}

// Of one character; keys are UTF-8.
char32_t code_of(std::string_view character) {
  constexpr std::array<unsigned char, 5> kept{0, 0x7f, 0x1f, 0x0f, 0x07};
  char32_t code = static_cast<unsigned char>(character[0]) & kept[character.size()];
  for (const char c : character.substr(1)) code = code << 6 | (static_cast<unsigned char>(c) & 0x3fU);
  return code;
}

// Of a letter in `compositions`, all of which have two or three bytes.
std::string character_of(char32_t code) {
  const auto byte = [&](unsigned lead, unsigned shift, unsigned mask) {
    return static_cast<char>(lead | (static_cast<unsigned>(code) >> shift & mask));
  };
  if (code < 0x800) return {byte(0xc0, 6, 0x1f), byte(0x80, 0, 0x3f)};
  return {byte(0xe0, 12, 0x0f), byte(0x80, 6, 0x3f), byte(0x80, 0, 0x3f)};
}

// U+0300 to U+036F.
bool is_mark(std::string_view character) {
  if (character.size() != 2) return false;
  return character[0] == '\xcc' || (character[0] == '\xcd' && static_cast<unsigned char>(character[1]) < 0xb0);
}

bool has_mark(std::string_view text) {
  for (std::size_t at = text.find_first_of("\xcc\xcd"); at != text.npos; at = text.find_first_of("\xcc\xcd", at + 1)) {
    if (is_mark(text.substr(at, 2))) return true;
  }
  return false;
}

std::optional<char32_t> compose(char32_t letter, char32_t mark) {
  const auto* const of_mark = std::ranges::find(compositions, mark, &Compositions::mark);
  if (of_mark == compositions.end()) return {};
  for (std::size_t i = 0; i < of_mark->letters.size(); i += 2) {
    if (of_mark->letters[i] == letter) return of_mark->letters[i + 1];
  }
  return {};
}

bool is_plain_key(std::string_view key) { return trimmed(key).size() == key.size() && !has_mark(key); }

// Without blanks around it, and with letters and marks composed.
std::string plain_key(std::string_view key) {
  const std::string_view text = trimmed(key);
  if (!has_mark(text)) return std::string(text);
  std::string plain;
  std::size_t letter = 0;  // where the last one begins, before its marks
  for (std::size_t at = 0; at < text.size(); at += length_at(text, at)) {
    const std::string_view character = text.substr(at, length_at(text, at));
    if (!is_mark(character) || plain.empty()) {
      letter = plain.size();
    } else if (const std::size_t length = length_at(plain, letter);
               const auto composed = compose(code_of({plain.data() + letter, length}), code_of(character))) {
      plain.replace(letter, length, character_of(*composed));
      continue;
    }
    plain += character;
  }
  return plain;
}

struct HashedKey {
  std::size_t hash = 0;  // of the plain key
  std::uint32_t key = 0;

  friend auto operator<=>(const HashedKey&, const HashedKey&) = default;
};

// All keys that are not plain, and those plain ones that may look like one of them; by hash, then by number.
std::vector<HashedKey> find_candidates(const Labels& keys) {
  std::vector<HashedKey> candidates;
  const std::hash<std::string_view> hash;
  for (std::uint64_t i = 0; i < keys.size(); ++i) {
    if (!is_plain_key(keys[i])) candidates.push_back({hash(plain_key(keys[i])), static_cast<std::uint32_t>(i)});
  }
  std::ranges::sort(candidates);
  const std::size_t odd = candidates.size();
  for (std::uint64_t i = 0; i < keys.size() && odd > 0; ++i) {
    const HashedKey key{hash(keys[i]), static_cast<std::uint32_t>(i)};
    const auto end = candidates.begin() + static_cast<std::ptrdiff_t>(odd);
    const auto found = std::ranges::lower_bound(candidates.begin(), end, key.hash, {}, &HashedKey::hash);
    if (found != end && found->hash == key.hash && is_plain_key(keys[i])) candidates.push_back(key);
  }
  std::ranges::sort(candidates);
  return candidates;
}

// The characters of a text from the first one that another has otherwise: a letter with its marks.
std::string codes_where(std::string_view text, std::string_view other) {
  auto at = static_cast<std::size_t>(std::ranges::mismatch(text, other).in1 - text.begin());
  while (at > 0 && at < text.size() && (static_cast<unsigned char>(text[at]) & 0xc0U) == 0x80) --at;
  std::string codes;
  for (std::size_t from = at; at < text.size(); at += length_at(text, at)) {
    const std::string_view character = text.substr(at, length_at(text, at));
    if (at > from && !is_mark(character)) break;
    std::array<char, 16> code{};
    std::snprintf(code.data(), code.size(), " U+%04X", static_cast<unsigned>(code_of(character)));
    codes += code.data();
  }
  return codes;
}

}  // namespace

KeyPairs find_alike_keys(const Labels& keys) {
  return find_pairs(find_candidates(keys), [&](const HashedKey& a, const HashedKey& b) {
    return a.hash == b.hash && plain_key(keys[a.key]) == plain_key(keys[b.key]);
  });
}

std::string show_alike_keys(const Labels& keys, const KeyPairs& alike) {
  const std::string_view first = trimmed(keys[alike.first]);
  const std::string_view second = trimmed(keys[alike.second]);
  const auto codes = [](std::string_view text, std::string_view other) {
    return text == other ? std::string() : " with" + codes_where(text, other);
  };
  return quoted_for_message(keys[alike.first]) + codes(first, second) + " and " +
         quoted_for_message(keys[alike.second]) + codes(second, first);
}

}  // namespace blco
