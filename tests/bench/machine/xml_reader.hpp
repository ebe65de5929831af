// A small reader of XML, for tests of what writes it.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <regex>
#include <string>
#include <utility>
#include <vector>

namespace blco {

struct XmlElement {
  std::string name;
  std::map<std::string, std::string> attributes;
  std::string text;  // directly within
  std::string tooltip;
};

// Reads elements, attributes and text, and fails the test if they are not well formed. Knows no more XML than that.
class XmlReader {
 public:
  explicit XmlReader(std::string xml) : xml_(std::move(xml)) {
    while (at_ < xml_.size() && !failed_) xml_[at_] == '<' ? read_tag() : read_text();
    EXPECT_TRUE(open_.empty()) << "an element is not closed";
    EXPECT_EQ(roots_, 1);
  }

  const std::vector<XmlElement>& elements() const { return elements_; }

 private:
  void fail(const std::string& what) {
    ADD_FAILURE() << what << " at " << xml_.substr(at_, 60);
    failed_ = true;
  }

  std::string decode(const std::string& text) {
    static const std::regex entity("&(amp|lt|gt|quot|#39);");
    if (std::regex_replace(text, entity, "").find_first_of("&<") != std::string::npos) fail("unescaped markup");
    std::string plain = text;
    const std::pair<const char*, const char*> entities[] = {
        {"&lt;", "<"}, {"&gt;", ">"}, {"&quot;", "\""}, {"&#39;", "'"}, {"&amp;", "&"}};
    for (const auto& [from, to] : entities) plain = std::regex_replace(plain, std::regex(from), to);
    return plain;
  }

  void read_text() {
    const std::size_t end = std::min(xml_.find('<', at_), xml_.size());
    const std::string text = decode(xml_.substr(at_, end - at_));
    at_ = end;
    if (!open_.empty()) {
      elements_[open_.back()].text += text;
    } else if (text.find_first_not_of(" \n") != std::string::npos) {
      fail("text outside");
    }
  }

  void read_tag() {
    static const std::regex closing("</([a-z]+)>");
    static const std::regex opening("<([a-z]+)((?: [a-zA-Z0-9-]+=\"[^\"<]*\")*)(/?)>");
    static const std::regex attribute(" ([a-zA-Z0-9-]+)=\"([^\"]*)\"");
    std::smatch found;
    const auto next = [&](const std::regex& what) {
      const auto from = xml_.cbegin() + static_cast<std::ptrdiff_t>(at_);
      return std::regex_search(from, xml_.cend(), found, what, std::regex_constants::match_continuous);
    };
    if (next(closing)) {
      if (open_.empty() || elements_[open_.back()].name != found[1]) return fail("a wrong end");
      const XmlElement closed = elements_[open_.back()];
      open_.pop_back();
      if (closed.name == "title" && !open_.empty()) elements_[open_.back()].tooltip = closed.text;
    } else if (next(opening)) {
      XmlElement element{found[1], {}, {}, {}};
      const std::string attributes = found[2];
      for (std::sregex_iterator a(attributes.begin(), attributes.end(), attribute), end; a != end; ++a) {
        if (!element.attributes.emplace((*a)[1], decode((*a)[2])).second) fail("an attribute twice");
      }
      if (open_.empty()) ++roots_;
      if (found[3].length() == 0) open_.push_back(elements_.size());
      elements_.push_back(element);
    } else {
      return fail("no tag");
    }
    at_ += static_cast<std::size_t>(found[0].length());
  }

  std::string xml_;
  std::size_t at_ = 0;
  bool failed_ = false;
  int roots_ = 0;
  std::vector<std::size_t> open_;
  std::vector<XmlElement> elements_;
};

}  // namespace blco
