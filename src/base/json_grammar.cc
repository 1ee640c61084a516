#include "base/json_grammar.h"

#include <boost/json/parse.hpp>
#include <string>

namespace takt::internal {
namespace {

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

}  // namespace

std::optional<boost::json::value> ParseByGrammar(std::string_view text, const JsonLimits& limits) {
    if (text.size() > limits.bytes_max) return std::nullopt;
    boost::json::parse_options options;
    options.max_depth = limits.depth_max;
    boost::system::error_code error;
    auto value = boost::json::parse(WithoutSurrogates(text), error, {}, options);
    if (error) return std::nullopt;
    return value;
}

}  // namespace takt::internal
