#include "base/json_grammar.h"

#include <boost/json/parse.hpp>
#include <string>
#include <vector>

namespace takt::internal {
namespace {

using Value = std::optional<boost::json::value>;

// The parser goes down the stack with each level: it gets no more of them at once.
constexpr std::size_t kPieceDepth = 32;

// The same with other letters for the halves of surrogate pairs, which the parser would not pass.
std::string WithoutSurrogates(std::string_view text) {
    std::string plain(text);
    for (std::size_t i = plain.find('\\'); i < plain.size(); i = plain.find('\\', i + 2)) {
        const std::string_view escape = std::string_view(plain).substr(i, 4);
        if (escape.size() < 4 || escape[1] != 'u' || (escape[2] | 0x20) != 'd') continue;
        if (std::string_view("89abcdefABCDEF").contains(escape[3])) plain.replace(i + 2, 2, "00");
    }
    return plain;
}

// Finds the end of texts, in which brackets are none.
class TextEnds {
  public:
    // Whether `c`, the next character, belongs to a text.
    bool Takes(char c) {
        if (!inside_) return inside_ = c == '"';
        if (escaped_) {
            escaped_ = false;
        } else if (c == '\\') {
            escaped_ = true;
        } else if (c == '"') {
            inside_ = false;
        }
        return true;
    }

  private:
    bool inside_ = false;
    bool escaped_ = false;
};

// The same with spaces for control characters, and null for what is no number.
std::string WithoutSlips(std::string_view text) {
    if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
    std::string plain;
    plain.reserve(text.size());
    TextEnds texts;
    while (!text.empty()) {
        std::size_t taken = 1;
        if (!texts.Takes(text.front())) {
            for (const std::string_view word : {"NaN", "Infinity", "-Infinity"}) {
                if (text.starts_with(word)) taken = word.size();
            }
        }
        if (taken > 1) {
            plain += "null";
        } else {
            plain += static_cast<unsigned char>(text.front()) < 0x20 ? ' ' : text.front();
        }
        text.remove_prefix(taken);
    }
    return plain;
}

Value ParsePiece(std::string_view text, JsonGrammar grammar) {
    boost::json::parse_options options;
    options.max_depth = kPieceDepth;
    if (grammar == JsonGrammar::kLenient) {
        options.allow_trailing_commas = true;
        options.allow_invalid_utf8 = true;
    }
    boost::system::error_code error;
    auto value = boost::json::parse(text, error, {}, options);
    if (error) return std::nullopt;
    return value;
}

// Parses in pieces, each of which has null where a deeper one was.
Value ParsePieces(std::string_view text, JsonGrammar grammar) {
    std::vector<std::string> open(1);
    std::size_t depth = 0;
    TextEnds texts;
    for (const char c : text) {
        const bool bracket = !texts.Takes(c);
        if (bracket && (c == '[' || c == '{') && depth++ % kPieceDepth == 0 && depth > 1) {
            open.emplace_back();
        }
        open.back().push_back(c);
        if (!bracket || (c != ']' && c != '}')) continue;
        if (depth == 0) return std::nullopt;
        if (--depth % kPieceDepth != 0 || depth == 0) continue;
        if (!ParsePiece(open.back(), grammar)) return std::nullopt;
        open.pop_back();
        open.back() += "null";
    }
    return depth == 0 ? ParsePiece(open.front(), grammar) : std::nullopt;
}

}  // namespace

Value ParseByGrammar(std::string_view text, std::size_t bytes_max, JsonGrammar grammar) {
    if (text.size() > bytes_max) return std::nullopt;
    const std::string plain = WithoutSurrogates(text);
    return ParsePieces(grammar == JsonGrammar::kLenient ? WithoutSlips(plain) : plain, grammar);
}

}  // namespace takt::internal
