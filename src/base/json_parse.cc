#include <algorithm>
#include <array>
#include <boost/json/basic_parser_impl.hpp>
#include <boost/json/value.hpp>
#include <boost/json/value_stack.hpp>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include "base/json.h"
#include "base/utf8.h"

namespace takt::internal {
namespace {

using boost::system::error_code;
using boost::system::errc::invalid_argument;

// Notes the keys of the objects that are open, and finds those that come twice.
class KeyCheck {
  public:
    // As much as an ordinary request needs, at once: growing step by step took half of its time.
    KeyCheck() {
        bytes_.reserve(512);
        keys_.reserve(32);
        starts_.reserve(16);
    }
    void BeginObject() { starts_.push_back(keys_.size()); }
    void AppendPart(std::string_view part) { pending_ += part; }
    void EndKey(std::string_view part) {
        keys_.push_back({bytes_.size(), pending_.size() + part.size()});
        bytes_.append(pending_).append(part);
        pending_.clear();
    }
    // A key that comes twice, if any does. Found by sorting, which a hostile choice of keys cannot
    // slow.
    std::optional<std::string> EndObject() {
        const auto begin = keys_.begin() + static_cast<std::ptrdiff_t>(starts_.back());
        starts_.pop_back();
        std::optional<std::string> twice;
        if (keys_.end() - begin > 1) {
            std::ranges::sort(begin, keys_.end(), {}, [&](Span span) { return View(span); });
            const auto found = std::ranges::adjacent_find(begin, keys_.end(), {},
                                                          [&](Span span) { return View(span); });
            if (found != keys_.end()) twice = CutUtf8(View(*found), 64);
        }
        for (auto key = begin; key != keys_.end(); ++key) {
            bytes_.resize(std::min(bytes_.size(), key->start));
        }
        keys_.erase(begin, keys_.end());
        return twice;
    }

  private:
    struct Span {
        std::size_t start;
        std::size_t size;
    };
    std::string_view View(Span span) const {
        return std::string_view(bytes_).substr(span.start, span.size);
    }

    std::string bytes_;    // Of all keys of all open objects.
    std::string pending_;  // The beginning of a key that comes in parts.
    std::vector<Span> keys_;
    std::vector<std::size_t> starts_;  // The first of keys_ of each open object.
};

// The handler that boost's parser calls. Builds the tree in its value stack, or with kBuild off
// only checks.
template <bool kBuild>
class Handler {
  public:
    static constexpr std::size_t max_object_size = std::numeric_limits<std::uint32_t>::max();
    static constexpr std::size_t max_array_size = max_object_size;
    static constexpr std::size_t max_key_size = max_object_size;
    static constexpr std::size_t max_string_size = max_object_size;

    Handler() {
        if constexpr (kBuild) stack_.reset();
    }

    bool on_document_begin(error_code&) { return true; }
    bool on_document_end(error_code&) { return true; }
    bool on_object_begin(error_code&) {
        keys_.BeginObject();
        return true;
    }
    bool on_object_end(std::size_t count, error_code& ec) {
        if (const auto key = keys_.EndObject()) {
            return Refuse("the key '" + *key + "' comes twice in one object", ec);
        }
        if constexpr (kBuild) stack_.push_object(count);
        return true;
    }
    bool on_array_begin(error_code&) { return true; }
    bool on_array_end(std::size_t count, error_code&) {
        if constexpr (kBuild) stack_.push_array(count);
        return true;
    }
    bool on_key_part(boost::json::string_view part, std::size_t, error_code&) {
        keys_.AppendPart(part);
        if constexpr (kBuild) stack_.push_chars(part);
        return true;
    }
    bool on_key(boost::json::string_view part, std::size_t, error_code&) {
        keys_.EndKey(part);
        if constexpr (kBuild) stack_.push_key(part);
        return true;
    }
    bool on_string_part(boost::json::string_view part, std::size_t, error_code&) {
        if constexpr (kBuild) stack_.push_chars(part);
        return true;
    }
    bool on_string(boost::json::string_view part, std::size_t, error_code&) {
        if constexpr (kBuild) stack_.push_string(part);
        return true;
    }
    bool on_number_part(boost::json::string_view, error_code&) { return true; }
    bool on_int64(std::int64_t number, boost::json::string_view, error_code&) {
        if constexpr (kBuild) stack_.push_int64(number);
        return true;
    }
    bool on_uint64(std::uint64_t number, boost::json::string_view, error_code&) {
        if constexpr (kBuild) stack_.push_uint64(number);
        return true;
    }
    bool on_double(double rough, boost::json::string_view text, error_code& ec) {
        // Boost's own value may be off in the last digit, and large integers silently become
        // doubles.
        if (text.find_first_of(".eE") == text.npos) {
            return Refuse("an integer is beyond 64 bits; write it as a string", ec);
        }
        double exact = 0;
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), exact);
        // Too small for a double is as near to zero as makes no difference; too large is refused.
        if (error == std::errc::result_out_of_range && std::abs(rough) < 1) {
            exact = 0;
        } else if (error != std::errc() || end != text.data() + text.size()) {
            return Refuse("a number is too large", ec);
        }
        if constexpr (kBuild) stack_.push_double(exact);
        return true;
    }
    bool on_bool(bool value, error_code&) {
        if constexpr (kBuild) stack_.push_bool(value);
        return true;
    }
    bool on_null(error_code&) {
        if constexpr (kBuild) stack_.push_null();
        return true;
    }
    bool on_comment_part(boost::json::string_view, error_code&) { return true; }
    bool on_comment(boost::json::string_view, error_code&) { return true; }

    boost::json::value Release() { return stack_.release(); }
    const std::string& refusal() const { return refusal_; }

  private:
    bool Refuse(std::string why, error_code& ec) {
        refusal_ = std::move(why);
        ec = make_error_code(invalid_argument);
        return false;
    }

    alignas(boost::json::value) std::array<unsigned char, kBuild ? 4096 : 1> first_buffer_;
    boost::json::value_stack stack_{{}, first_buffer_.data(), first_buffer_.size()};
    KeyCheck keys_;
    std::string refusal_;
};

std::string Position(std::string_view text, std::size_t offset) {
    const std::string_view before = text.substr(0, offset);
    const auto line = 1 + std::ranges::count(before, '\n');
    const std::size_t newline = before.rfind('\n');
    const std::size_t column = newline == before.npos ? offset + 1 : offset - newline;
    return "line " + std::to_string(line) + ", column " + std::to_string(column);
}

// The thing that commonly stands where no JSON may, else the parser's word for it.
std::string ExplainPlace(const error_code& error, std::string_view text, std::size_t at) {
    const std::string_view rest = text.substr(at);
    const char before = at > 0 ? text[at - 1] : '\0';
    for (const std::string_view word : {"NaN", "Infinity"}) {
        if (!rest.starts_with(word)) continue;
        return (before == '-' ? "-" : "") + std::string(word) + " is no number of JSON";
    }
    if (!rest.empty() && static_cast<unsigned char>(rest[0]) < 0x20) {
        return "a control character in a text must be written as an escape";
    }
    if (!rest.empty() && (rest[0] == ']' || rest[0] == '}')) {
        const std::size_t last = text.substr(0, at).find_last_not_of(" \t\r\n");
        if (last != text.npos && text[last] == ',') return "a comma stands before the end";
    }
    if (!IsValidUtf8(text)) return "it is not UTF-8";
    return error.message();
}

std::string Explain(const error_code& error, std::string_view text, std::size_t at,
                    const JsonLimits& limits) {
    if (text.starts_with("\xef\xbb\xbf")) return "it starts with a byte order mark; leave that out";
    if (error == boost::json::error::too_deep) {
        return "it is nested deeper than " + std::to_string(limits.depth_max);
    }
    if (error == boost::json::error::incomplete) return "it ends too early";
    if (error == boost::json::error::extra_data) return "more text follows the value";
    return ExplainPlace(error, text, at);
}

template <bool kBuild>
Result<void> Run(boost::json::basic_parser<Handler<kBuild>>& parser, std::string_view text,
                 const JsonLimits& limits) {
    if (text.size() > limits.bytes_max) {
        return Fail(ErrorCode::kExhausted, "the JSON has " + std::to_string(text.size()) +
                                               " bytes; at most " +
                                               std::to_string(limits.bytes_max) + " are taken");
    }
    error_code error;
    const std::size_t used = parser.write_some(false, text.data(), text.size(), error);
    if (!error && used < text.size()) error = boost::json::error::extra_data;
    if (!error) return {};
    const std::string& refusal = parser.handler().refusal();
    return Fail(ErrorCode::kInvalid,
                "not valid JSON at " + Position(text, used) + ": " +
                    (refusal.empty() ? Explain(error, text, used, limits) : refusal));
}

boost::json::parse_options Options(const JsonLimits& limits) {
    boost::json::parse_options options;
    options.max_depth = limits.depth_max;
    return options;
}

}  // namespace

Result<boost::json::value> ParseJson(std::string_view text, const JsonLimits& limits) {
    boost::json::basic_parser<Handler<true>> parser(Options(limits));
    if (auto result = Run(parser, text, limits); !result) {
        return std::unexpected(std::move(result.error()));
    }
    return parser.handler().Release();
}

Result<void> CheckJson(std::string_view text, const JsonLimits& limits) {
    boost::json::basic_parser<Handler<false>> parser(Options(limits));
    return Run(parser, text, limits);
}

}  // namespace takt::internal
