#include "links/service_policy.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "http/message.h"

namespace takt::internal {
namespace {

bool HasScheme(std::string_view url, std::string_view scheme) {
    return url.size() > scheme.size() && EqualsIgnoringCase(url.substr(0, scheme.size()), scheme);
}

std::optional<unsigned> ParseBits(std::string_view text, unsigned max) {
    unsigned bits = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), bits);
    if (text.empty() || error != std::errc() || end != text.data() + text.size() || bits > max) {
        return std::nullopt;
    }
    return bits;
}

}  // namespace

Result<ServicePolicy> ServicePolicy::Make(const std::vector<std::string>& allow,
                                          bool allow_loopback) {
    ServicePolicy policy;
    policy.allow_loopback_ = allow_loopback;
    std::string wrong;
    for (const std::string& entry : allow) {
        const std::size_t slash = entry.find('/');
        const auto address = ParseIpAddress(std::string_view(entry).substr(0, slash));
        if (address) {
            const unsigned width = address->v6 ? 128 : 32;
            const auto bits = slash == std::string::npos
                                  ? std::optional(width)
                                  : ParseBits(std::string_view(entry).substr(slash + 1), width);
            if (bits) {
                policy.ranges_.push_back({*address, *bits});
                continue;
            }
        } else if (const auto url = ParseUrl("http://" + entry);
                   url && url->host.size() == entry.size()) {
            policy.names_.push_back(url->host);
            continue;
        }
        wrong += (wrong.empty() ? "'" : ", '") + entry + "'";
    }
    if (!wrong.empty()) {
        return Fail(ErrorCode::kInvalid,
                    "executors.allow: " + wrong +
                        ": neither a host name, an IP address nor a range such as 10.0.0.0/8",
                    "executors.allow");
    }
    std::ranges::sort(policy.names_);
    return policy;
}

bool ServicePolicy::IsIn(const IpAddress& address, const Range& range) {
    if (address.v6 != range.base.v6) return false;
    for (unsigned bit = 0; bit < range.bits; bit += 8) {
        const unsigned left = std::min(8u, range.bits - bit);
        const auto mask = static_cast<std::uint8_t>(0xff << (8 - left));
        if ((address.bytes[bit / 8] ^ range.base.bytes[bit / 8]) & mask) return false;
    }
    return true;
}

bool ServicePolicy::IsListed(std::string_view host) const {
    return std::ranges::binary_search(names_, host, {},
                                      [](const auto& name) { return std::string_view(name); });
}

bool ServicePolicy::Allows(std::string_view host, const IpAddress& address) const {
    const AddressReach reach = ReachOf(address);
    // 0.0.0.0 reaches this machine, translated addresses reach anything.
    if (reach == AddressReach::kSpecial) return false;
    if (reach == AddressReach::kLoopback && allow_loopback_) return true;
    const bool guarded = reach == AddressReach::kLoopback || reach == AddressReach::kLinkLocal;
    if (!guarded && IsListed(host)) return true;
    return std::ranges::any_of(ranges_, [&](const Range& range) {
        return IsIn(address, range) && (!guarded || ReachOf(range.base) == reach);
    });
}

Result<Url> ServicePolicy::Check(std::string_view url, std::string_view field) const {
    const auto refuse = [&](std::string why) {
        return Fail(ErrorCode::kInvalid, std::string(field) + " " + std::move(why),
                    std::string(field));
    };
    if (!HasScheme(url, "http://") && !HasScheme(url, "https://")) {
        return refuse("must begin with http:// or https://");
    }
    auto parsed = ParseUrl(url);
    if (!parsed) return refuse("is no usable URL: " + parsed.error().detail);
    const std::string& host = parsed->host;
    const auto address = ParseIpAddress(host);
    // The addresses of a name may change at any time: with ranges, each call decides.
    const bool allowed =
        address ? Allows(host, *address)
                : IsListed(host) || !ranges_.empty() || (allow_loopback_ && host == "localhost");
    if (!allowed) {
        return refuse("names the host '" + host +
                      "', which may not be called; an operator can add it to executors.allow");
    }
    return std::move(*parsed);
}

}  // namespace takt::internal
