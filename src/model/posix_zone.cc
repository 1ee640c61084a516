#include "model/posix_zone.h"

#include <algorithm>
#include <chrono>

namespace takt::internal {

namespace chr = std::chrono;

// Each Read returns false, and the whole parse fails, when the text does not fit.
struct PosixZone::Reader {
    std::string_view rest;

    bool Take(char c) {
        if (rest.empty() || rest[0] != c) return false;
        rest.remove_prefix(1);
        return true;
    }

    bool Number(int max, int* value) {
        std::size_t digits = 0;
        *value = 0;
        for (; digits < rest.size() && rest[digits] >= '0' && rest[digits] <= '9'; ++digits) {
            *value = *value * 10 + (rest[digits] - '0');
            if (*value > max) return false;
        }
        rest.remove_prefix(digits);
        return digits > 0;
    }

    // "CEST" or "<+03>". The name itself is of no use to us.
    bool Name() {
        if (Take('<')) {
            const std::size_t end = rest.find('>');
            if (end == std::string_view::npos) return false;
            rest.remove_prefix(end + 1);
            return true;
        }
        const auto is_letter = [](char c) { return (c | 0x20) >= 'a' && (c | 0x20) <= 'z'; };
        std::size_t letters = 0;
        while (letters < rest.size() && is_letter(rest[letters])) ++letters;
        rest.remove_prefix(letters);
        return letters >= 3;
    }

    // "[+-]hh[:mm[:ss]]", up to 167 hours: RFC 9636 allows a week in each direction.
    bool Seconds(std::int32_t* value) {
        const bool negative = Take('-');
        if (!negative) Take('+');
        int hours = 0, minutes = 0, seconds = 0;
        if (!Number(167, &hours)) return false;
        if (Take(':') && !Number(59, &minutes)) return false;
        if (Take(':') && !Number(59, &seconds)) return false;
        *value = hours * 3600 + minutes * 60 + seconds;
        if (negative) *value = -*value;
        return true;
    }

    bool ReadEdge(std::optional<Edge>* result) {
        Edge edge{Form::kDayOfYear, 0, 0, 0, 2 * 3600};
        if (!Take(',')) return false;
        if (Take('M')) {
            edge.form = Form::kMonthWeekDay;
            if (!Number(12, &edge.month) || !Take('.') || !Number(5, &edge.week) || !Take('.') ||
                !Number(6, &edge.day) || edge.month == 0 || edge.week == 0) {
                return false;
            }
        } else {
            if (Take('J')) edge.form = Form::kJulian;
            if (!Number(365, &edge.day)) return false;
            if (edge.form == Form::kJulian && edge.day == 0) return false;
        }
        if (Take('/') && !Seconds(&edge.time)) return false;
        *result = edge;
        return true;
    }
};

std::optional<PosixZone> PosixZone::Parse(std::string_view text) {
    Reader reader{text};
    PosixZone zone;
    if (!reader.Name() || !reader.Seconds(&zone.standard_)) return std::nullopt;
    zone.standard_ = -zone.standard_;  // POSIX counts west of Greenwich as positive.
    if (reader.rest.empty()) return zone;

    if (!reader.Name()) return std::nullopt;
    zone.summer_ = zone.standard_ + 3600;
    if (!reader.rest.empty() && reader.rest[0] != ',') {
        if (!reader.Seconds(&zone.summer_)) return std::nullopt;
        zone.summer_ = -zone.summer_;
    }
    if (!reader.ReadEdge(&zone.start_) || !reader.ReadEdge(&zone.end_) || !reader.rest.empty()) {
        return std::nullopt;
    }
    return zone;
}

std::int64_t PosixZone::LocalSeconds(const Edge& edge, int year) {
    const auto first = chr::sys_days(chr::year(year) / chr::January / 1);
    chr::sys_days day;
    switch (edge.form) {
        case Form::kMonthWeekDay: {
            const auto month = chr::year(year) / chr::month(static_cast<unsigned>(edge.month));
            const auto weekday = chr::weekday(static_cast<unsigned>(edge.day));
            day = edge.week == 5 ? chr::sys_days(month / weekday[chr::last])
                                 : chr::sys_days(month / weekday[static_cast<unsigned>(edge.week)]);
            break;
        }
        case Form::kJulian:
            day = first + chr::days(edge.day - 1 + (chr::year(year).is_leap() && edge.day >= 60));
            break;
        case Form::kDayOfYear:
            day = first + chr::days(edge.day);
            break;
    }
    return chr::seconds(day.time_since_epoch()).count() + edge.time;
}

std::vector<OffsetChange> PosixZone::ChangesOf(int year) const {
    if (!start_) return {};
    // Each edge is written in the local time that ends there.
    std::vector<OffsetChange> changes = {
        {LocalSeconds(*start_, year) - standard_, summer_},
        {LocalSeconds(*end_, year) - summer_, standard_},
    };
    if (changes[1].at < changes[0].at) std::swap(changes[0], changes[1]);
    return changes;
}

}  // namespace takt::internal
