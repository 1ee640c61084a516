#include "takt/json.h"

#include <array>
#include <charconv>
#include <cmath>

#include "base/check.h"
#include "base/json.h"
#include "base/json_view.h"

namespace takt {
namespace {

using internal::JsonView;

const Json& Nothing() {
    static const Json nothing;
    return nothing;
}

bool IsNumberText(std::string_view text) {
    if (text.empty() || (text[0] != '-' && (text[0] < '0' || text[0] > '9'))) return false;
    return text.back() >= '0' && text.back() <= '9' &&
           internal::CheckJson(text, {.bytes_max = text.size()}).has_value();
}

template <typename Integer>
std::optional<Integer> WholeNumber(std::string_view text) {
    Integer value{};
    const char* end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, value);
    if (error == std::errc() && stop == end) return value;
    // 3.0 and 3e2 are whole too, as far as a double can tell.
    double number = 0;
    if (std::from_chars(text.data(), end, number).ec != std::errc()) return std::nullopt;
    constexpr double kExact = 9007199254740992;  // 2^53: beyond, a double skips whole numbers.
    if (std::trunc(number) != number || std::abs(number) > kExact) return std::nullopt;
    if (number < 0 && !std::is_signed_v<Integer>) return std::nullopt;
    return static_cast<Integer>(number);
}

}  // namespace

// A value that CheckJson has seen.
class JsonBuilder {
  public:
    static Json Build(const JsonView& view) {
        std::string scratch;
        switch (view.kind()) {
            case JsonView::Kind::kNull:
                return {};
            case JsonView::Kind::kBool:
                return view.AsBool().value_or(false);
            case JsonView::Kind::kNumber:
                return Json::Number(view.raw()).value();
            case JsonView::Kind::kString:
                return view.AsString(scratch);
            case JsonView::Kind::kArray: {
                Json list = Json::List();
                JsonView::Elements elements(view);
                while (elements.Next()) list.elements_.push_back(Build(elements.value()));
                return list;
            }
            case JsonView::Kind::kObject:
                break;
        }
        Json object = Json::Object();
        JsonView::Members members(view);
        while (members.Next()) {
            const std::string name(members.key());
            // CheckJson refuses two of one name: there is none to look for.
            object.members_.emplace_back(name, Build(members.value()));
        }
        return object;
    }
};

Json::Member::Member(std::string_view named, Json held) : name(named), value(std::move(held)) {}

Json::Json() = default;
Json::Json(const Json&) = default;
Json::Json(Json&&) noexcept = default;
Json& Json::operator=(const Json&) = default;
Json& Json::operator=(Json&&) noexcept = default;
Json::~Json() = default;

Json::Json(Kind kind, std::string scalar) : kind_(kind), scalar_(std::move(scalar)) {}
Json::Json(bool value) : Json(Kind::kBool, value ? "true" : "false") {}
Json::Json(std::string_view text) : Json(Kind::kText, std::string(text)) {}

Json::Json(double value) {
    if (!std::isfinite(value)) return;
    std::array<char, 40> text{};
    const auto [end, error] = std::to_chars(text.data(), text.data() + text.size(), value);
    TAKT_CHECK(error == std::errc());
    kind_ = Kind::kNumber;
    scalar_.assign(text.data(), end);
}

Json::Json(std::initializer_list<Member> members) : kind_(Kind::kObject) {
    for (const Member& member : members) Set(member.name, member.value);
}

Json Json::Object() {
    Json object;
    object.kind_ = Kind::kObject;
    return object;
}

Json Json::List(std::vector<Json> elements) {
    Json list;
    list.kind_ = Kind::kList;
    list.elements_ = std::move(elements);
    return list;
}

Result<Json> Json::Number(std::string_view text) {
    if (!IsNumberText(text)) {
        return Error{ErrorCode::kInvalid, "'" + std::string(text) + "' is not a number of JSON"};
    }
    return Json(Kind::kNumber, std::string(text));
}

Result<Json> Json::Parse(std::string_view text) {
    const auto checked = internal::CheckJson(text, {.bytes_max = text.size()});
    if (!checked) return Error{ErrorCode::kInvalid, "this is not JSON: " + checked.error().detail};
    return JsonBuilder::Build(JsonView(text));
}

std::optional<bool> Json::AsBool() const {
    if (kind_ != Kind::kBool) return std::nullopt;
    return scalar_ == "true";
}

std::optional<std::int64_t> Json::AsInteger() const {
    if (kind_ != Kind::kNumber) return std::nullopt;
    return WholeNumber<std::int64_t>(scalar_);
}

std::optional<std::uint64_t> Json::AsUnsigned() const {
    if (kind_ != Kind::kNumber) return std::nullopt;
    return WholeNumber<std::uint64_t>(scalar_);
}

std::optional<double> Json::AsDouble() const {
    if (kind_ != Kind::kNumber) return std::nullopt;
    double value = 0;
    const auto [end, error] =
        std::from_chars(scalar_.data(), scalar_.data() + scalar_.size(), value);
    if (error != std::errc()) return std::nullopt;
    return value;
}

std::optional<std::string> Json::AsText() const {
    if (kind_ != Kind::kText) return std::nullopt;
    return scalar_;
}

std::string_view Json::number() const {
    return kind_ == Kind::kNumber ? std::string_view(scalar_) : std::string_view();
}

std::size_t Json::size() const {
    return kind_ == Kind::kObject ? members_.size() : elements_.size();
}

const Json& Json::At(std::size_t index) const {
    return index < elements_.size() ? elements_[index] : Nothing();
}

const Json& Json::operator[](std::string_view name) const {
    const Json* found = Find(name);
    return found ? *found : Nothing();
}

const Json* Json::Find(std::string_view name) const {
    for (const Member& member : members_) {
        if (member.name == name) return &member.value;
    }
    return nullptr;
}

const std::vector<Json::Member>& Json::members() const {
    return members_;
}
const std::vector<Json>& Json::elements() const {
    return elements_;
}

Json& Json::Set(std::string_view name, Json value) {
    TAKT_CHECK(kind_ == Kind::kObject || kind_ == Kind::kNull);
    kind_ = Kind::kObject;
    for (Member& member : members_) {
        if (member.name != name) continue;
        member.value = std::move(value);
        return *this;
    }
    members_.emplace_back(name, std::move(value));
    return *this;
}

Json& Json::Add(Json element) {
    TAKT_CHECK(kind_ == Kind::kList || kind_ == Kind::kNull);
    kind_ = Kind::kList;
    elements_.push_back(std::move(element));
    return *this;
}

void Json::Write(std::string& out) const {
    switch (kind_) {
        case Kind::kNull:
            out += "null";
            return;
        case Kind::kBool:
        case Kind::kNumber:
            out += scalar_;
            return;
        case Kind::kText:
            internal::AppendJsonString(out, scalar_);
            return;
        case Kind::kList:
            out += '[';
            for (const Json& element : elements_) {
                if (&element != elements_.data()) out += ',';
                element.Write(out);
            }
            out += ']';
            return;
        case Kind::kObject:
            out += '{';
            for (const Member& member : members_) {
                if (&member != members_.data()) out += ',';
                internal::AppendJsonString(out, member.name);
                out += ':';
                member.value.Write(out);
            }
            out += '}';
            return;
    }
}

std::string Json::ToText() const {
    std::string out;
    Write(out);
    return out;
}

}  // namespace takt
