#include "api/route.h"

#include <algorithm>

#include "base/check.h"

namespace takt::internal {
namespace {

// The API's deepest address has six; more than this is nobody's.
constexpr std::size_t kSegmentsMax = 8;

constexpr std::string_view kBase = "/api/v1";
constexpr std::string_view kSpaces = "/api/v1/namespaces/";
// The same as a prefix, which a generated client can be given as its base address.
constexpr std::string_view kSpaceServers = "/namespaces/";

bool IsParameter(std::string_view segment) {
    return segment.starts_with('{');
}

// Splits at slashes; false if there are too many segments.
bool Split(std::string_view path, std::vector<std::string_view>& segments) {
    segments.clear();
    if (!path.starts_with('/')) return false;
    path.remove_prefix(1);
    for (;;) {
        const std::size_t slash = path.find('/');
        if (segments.size() == kSegmentsMax) return false;
        segments.push_back(path.substr(0, slash));
        if (slash == path.npos) return true;
        path.remove_prefix(slash + 1);
    }
}

bool Fits(const std::vector<std::string_view>& pattern, const std::vector<std::string_view>& path) {
    for (std::size_t i = 0; i < pattern.size(); ++i) {
        if (IsParameter(pattern[i]) ? path[i].empty() : pattern[i] != path[i]) return false;
    }
    return true;
}

// Literal segments before parameters, from the left.
bool GoesBefore(const std::vector<std::string_view>& a, const std::vector<std::string_view>& b) {
    return std::ranges::lexicographical_compare(a, b, {}, IsParameter, IsParameter);
}

}  // namespace

RouteTable::RouteTable(std::vector<Route> routes) : routes_(std::move(routes)) {
    by_length_.resize(kSegmentsMax + 1);
    for (std::size_t i = 0; i < routes_.size(); ++i) {
        Pattern pattern{.route = i};
        TAKT_CHECK(routes_[i].handler && Split(routes_[i].path, pattern.segments));
        for (std::size_t j = 0; j < i; ++j) {
            TAKT_CHECK(routes_[i].method != routes_[j].method ||
                       routes_[i].path != routes_[j].path);
        }
        by_length_[pattern.segments.size()].push_back(std::move(pattern));
    }
    for (auto& patterns : by_length_) {
        std::ranges::sort(patterns, [](const Pattern& a, const Pattern& b) {
            if (GoesBefore(a.segments, b.segments)) return true;
            return !GoesBefore(b.segments, a.segments) && a.route < b.route;
        });
    }
}

RouteTable::Match RouteTable::Find(HttpMethod method, std::string_view raw_path) const {
    const bool prefixed = raw_path.starts_with(kSpaceServers);
    if (!prefixed && !raw_path.starts_with(kSpaces)) return FindPlain(method, raw_path, false);
    const std::string_view rest = raw_path.substr(prefixed ? kSpaceServers.size() : kSpaces.size());
    const std::size_t slash = rest.find('/');
    if (slash == rest.npos || slash == 0) return FindPlain(method, raw_path, false);
    const std::string_view path = rest.substr(slash);
    if (prefixed && !path.starts_with(kBase)) return {};
    Match match = FindPlain(method, (prefixed ? "" : std::string(kBase)) + std::string(path), true);
    match.space = PercentDecode(rest.substr(0, slash), false).value_or("");
    // A text that cannot be decoded is nobody's name.
    if (match.space.empty()) return {};
    return match;
}

RouteTable::Match RouteTable::FindPlain(HttpMethod method, std::string_view raw_path,
                                        bool in_space) const {
    if (method == HttpMethod::kHead) method = HttpMethod::kGet;
    Match match;
    std::vector<std::string_view> path;
    path.reserve(kSegmentsMax);
    if (!Split(raw_path, path)) return match;
    for (const Pattern& pattern : by_length_[path.size()]) {
        if (!Fits(pattern.segments, path)) continue;
        const Route& route = routes_[pattern.route];
        if (in_space && route.cluster) continue;
        if (route.method != method) {
            if (!match.allowed.empty()) match.allowed += ", ";
            match.allowed += Name(route.method);
            continue;
        }
        match.route = &route;
        for (std::size_t i = 0; i < path.size(); ++i) {
            const std::string_view name = pattern.segments[i];
            if (!IsParameter(name)) continue;
            // A text that cannot be decoded is nobody's id: the handler refuses the empty text.
            match.parameters.emplace_back(name.substr(1, name.size() - 2),
                                          PercentDecode(path[i], false).value_or(""));
        }
        return match;
    }
    return match;
}

}  // namespace takt::internal
