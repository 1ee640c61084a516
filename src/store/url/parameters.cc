#include "store/url/parameters.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/log.h"
#include "base/nearest.h"
#include "base/number.h"
#include "base/url.h"

namespace takt::internal {
namespace {

// Of an unknown name, which may be anything.
constexpr std::size_t kShownMax = 30;

std::optional<Duration> ReadDuration(const std::string& text) {
    if (const auto seconds = ParseNumber<std::uint32_t>(text)) return Duration(*seconds * 1000LL);
    const Result<Duration> duration = ParseDuration(text);
    return duration ? std::optional(*duration) : std::nullopt;
}

// Each sets its value, or says what the parameter must be.
struct Setter {
    const std::string& text;

    std::string operator()(const SwitchTo& to) const {
        if (text != "0" && text != "1") return "0 or 1";
        *to.value = text == "1";
        return {};
    }
    std::string operator()(const DurationTo& to) const {
        const std::optional<Duration> duration = ReadDuration(text);
        if (!duration || *duration < to.least || *duration > to.most) {
            return fmt::format("a duration from {} to {}, such as 5s", FormatDuration(to.least),
                               FormatDuration(to.most));
        }
        *to.value = *duration;
        return {};
    }
    std::string operator()(const NumberTo& to) const {
        const auto number = ParseNumber<std::uint64_t>(text);
        if (!number || *number < to.least || *number > to.most) {
            return to.most == UINT64_MAX ? fmt::format("a number from {}", to.least)
                                         : fmt::format("a number from {} to {}", to.least, to.most);
        }
        *to.value = *number;
        return {};
    }
    std::string operator()(const TlsTo& to) const {
        if (text == "unverified") to.value->verify = false;
        to.value->enabled = text != "0";
        return text == "0" || text == "1" || text == "unverified" ? "" : "0 or 1";
    }
    std::string operator()(const TextTo& to) const {
        *to.value = text;
        return {};
    }
};

std::unexpected<Error> UnknownParameter(std::string_view name,
                                        const std::vector<UrlParameter>& table) {
    std::vector<std::string_view> known;
    std::string list;
    for (const UrlParameter& parameter : table) {
        known.push_back(parameter.name);
        list += (list.empty() ? "" : ", ") + std::string(parameter.name);
    }
    const std::string_view nearest = NearestName(name, known);
    return BadStoreUrl(
        fmt::format("there is no parameter '{}'{}; known are {}", name.substr(0, kShownMax),
                    nearest.empty() ? "" : fmt::format(", did you mean '{}'?", nearest), list));
}

}  // namespace

std::unexpected<Error> BadStoreUrl(std::string detail) {
    return Fail(ErrorCode::kInvalid, "the store's URL: " + std::move(detail), "store");
}

void AddTlsParameters(StoreTls& tls, std::vector<UrlParameter>& table) {
    table.push_back({"tls", TlsTo{&tls}});
    table.push_back({"tls_ca", TextTo{&tls.ca_file}, "ca"});
    table.push_back({"tls_cert", TextTo{&tls.cert_file}, "cert"});
    table.push_back({"tls_key", TextTo{&tls.key_file}, "key"});
    table.push_back({"verify", SwitchTo{&tls.verify}});
}

Result<void> ReadUrlParameters(std::string_view query, const std::vector<UrlParameter>& table) {
    while (!query.empty()) {
        std::string_view value = CutAt(query, '&');
        const std::string_view name = CutAt(value, '=');
        const auto found = std::ranges::find_if(table, [&](const UrlParameter& parameter) {
            return parameter.name == name || (!name.empty() && parameter.former == name);
        });
        if (found == table.end()) return UnknownParameter(name, table);
        if (name != found->name) {
            Log(LogLevel::kWarning, "store",
                "a parameter of the store's URL is spelled otherwise now",
                {{"parameter", name}, {"now", found->name}});
        }
        const std::optional<std::string> text = UnescapeUrl(value);
        if (!text) {
            return BadStoreUrl(fmt::format("{} has a % without two hexadecimal digits", name));
        }
        const std::string wanted = std::visit(Setter{*text}, found->to);
        if (!wanted.empty()) return BadStoreUrl(fmt::format("{} must be {}", name, wanted));
    }
    return {};
}

Result<void> SettleTls(StoreTls& tls) {
    if (tls.cert_file.empty() != tls.key_file.empty()) {
        return BadStoreUrl("tls_cert and tls_key go together");
    }
    tls.enabled = tls.enabled || !tls.ca_file.empty() || !tls.cert_file.empty() || !tls.verify;
    return {};
}

}  // namespace takt::internal
