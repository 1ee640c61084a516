#include "model/step_values.h"

#include <charconv>
#include <map>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/json_view.h"
#include "model/results_reference.h"

namespace takt::internal {
namespace {

using Kind = JsonView::Kind;

bool IsPointer(std::string_view text) {
    if (!text.empty() && text[0] != '/') return false;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] != '~') continue;
        if (i + 1 >= text.size() || (text[i + 1] != '0' && text[i + 1] != '1')) return false;
    }
    return true;
}

// One token of a pointer, with ~1 and ~0 taken for what they stand for.
std::string Unescaped(std::string_view token) {
    std::string text;
    for (std::size_t i = 0; i < token.size(); ++i) {
        if (token[i] == '~' && i + 1 < token.size()) {
            text += token[++i] == '1' ? '/' : '~';
        } else {
            text += token[i];
        }
    }
    return text;
}

std::optional<JsonView> MemberOf(const JsonView& value, const std::string& token) {
    if (value.kind() == Kind::kObject) {
        JsonView::Members members(value);
        while (members.Next()) {
            if (members.key() == token) return members.value();
        }
        return std::nullopt;
    }
    if (value.kind() != Kind::kArray || token.empty()) return std::nullopt;
    if (token.size() > 1 && token[0] == '0') return std::nullopt;
    std::size_t index = 0;
    const char* end = token.data() + token.size();
    const auto [stop, error] = std::from_chars(token.data(), end, index);
    if (error != std::errc() || stop != end) return std::nullopt;
    JsonView::Elements elements(value);
    for (std::size_t i = 0; elements.Next(); ++i) {
        if (i == index) return elements.value();
    }
    return std::nullopt;
}

// A value that stands for another one.
struct Reference : StepReference {
    std::optional<std::string_view> fallback;  // Its default, as written.
};

std::unexpected<Error> Wrong(std::string detail) {
    return Fail(ErrorCode::kInvalid, std::move(detail));
}

std::optional<StepReference::Kind> KindOf(std::string_view key) {
    if (key == "$from") return StepReference::Kind::kFrom;
    if (key == "$input") return StepReference::Kind::kInput;
    if (key == "$item") return StepReference::Kind::kItem;
    return std::nullopt;
}

// Whether the object is to be taken as something else than itself.
bool IsSpecial(const JsonView& object) {
    JsonView::Members members(object);
    while (members.Next()) {
        if (KindOf(members.key()) || members.key() == "$literal") return true;
    }
    return false;
}

// One member of a reference.
Result<void> ReadMember(Reference& reference, bool& named, std::string_view key,
                        const JsonView& value) {
    std::string scratch;
    const auto kind = KindOf(key);
    if (key == "default") {
        reference.fallback = value.raw();
        reference.has_default = true;
        return {};
    }
    if (!kind && key != "pointer") {
        return Wrong("beside $from, $input and $item only pointer and default may stand, not '" +
                     std::string(key) + "'; {\"$literal\": …} takes an object as it is");
    }
    if (kind && std::exchange(named, true)) {
        return Wrong("of $from, $input and $item one object has one");
    }
    if (!value.is_string()) return Wrong("'" + std::string(key) + "' must be a string");
    const std::string text(value.AsString(scratch));
    if (kind) reference.kind = *kind;
    if (kind == StepReference::Kind::kFrom) {
        reference.step = text;
        return {};
    }
    if (!reference.pointer.empty()) return Wrong("a value has one pointer");
    if (!IsPointer(text)) {
        return Wrong("'" + text +
                     "' is no JSON pointer: it is empty or begins with /, like /rows/0");
    }
    reference.pointer = text;
    return {};
}

// REQUIRES: IsSpecial. Nothing for a $literal, whose value is put into `literal`.
Result<std::optional<Reference>> ReadSpecial(const JsonView& object, std::string_view& literal) {
    Reference reference;
    bool named = false;
    bool is_literal = false;
    std::size_t count = 0;
    Result<void> read;
    JsonView::Members members(object);
    while (members.Next()) {
        ++count;
        if (members.key() == "$literal") {
            is_literal = true;
            literal = members.value().raw();
        } else if (read) {
            read = ReadMember(reference, named, members.key(), members.value());
        }
    }
    if (is_literal) {
        if (count > 1) return Wrong("beside $literal nothing else may stand");
        return std::nullopt;
    }
    if (!read) return std::unexpected(read.error());
    return reference;
}

// Walks through a value; `on_special` is called for each object that is none itself.
template <typename OnSpecial>
void Walk(const JsonView& value, const OnSpecial& on_special) {
    if (value.kind() == Kind::kArray) {
        JsonView::Elements elements(value);
        while (elements.Next()) Walk(elements.value(), on_special);
    } else if (value.kind() == Kind::kObject) {
        if (IsSpecial(value)) return on_special(value);
        JsonView::Members members(value);
        while (members.Next()) Walk(members.value(), on_special);
    }
}

std::string SourceOf(const Reference& reference) {
    if (reference.kind == StepReference::Kind::kInput) return "what the run was given";
    if (reference.kind == StepReference::Kind::kItem) return "the item";
    return "the result of step '" + reference.step + "'";
}

std::string Describe(const Reference& reference) {
    if (!reference.pointer.empty()) {
        return SourceOf(reference) + " has no '" + reference.pointer + "'";
    }
    if (reference.kind == StepReference::Kind::kInput) return "the run has no parameters";
    if (reference.kind == StepReference::Kind::kItem) return "there is no item";
    return "step '" + reference.step + "' has no result";
}

// Follows the pointer as far as there is something; what is left of the pointer is empty at its end.
JsonView Follow(std::string_view json, std::string_view& pointer) {
    JsonView value(json);
    while (!pointer.empty()) {
        const std::string_view path = pointer.substr(1);
        const std::size_t end = path.find('/');
        const auto member = MemberOf(value, Unescaped(path.substr(0, end)));
        if (!member) break;
        value = *member;
        pointer = end == path.npos ? std::string_view() : path.substr(end);
    }
    return value;
}

class Filler {
  public:
    explicit Filler(const ValueSources& sources) : sources_(sources) {}

    Result<void> Append(const JsonView& value) {
        switch (value.kind()) {
            case Kind::kArray:
                return AppendArray(value);
            case Kind::kObject:
                return IsSpecial(value) ? AppendSpecial(value) : AppendObject(value);
            default:
                out += value.raw();
                return {};
        }
    }

    std::string out;

  private:
    Result<void> AppendArray(const JsonView& array) {
        out += '[';
        JsonView::Elements elements(array);
        for (bool first = true; elements.Next(); first = false) {
            if (!first) out += ',';
            if (auto done = Append(elements.value()); !done) return done;
        }
        out += ']';
        return {};
    }

    Result<void> AppendObject(const JsonView& object) {
        out += '{';
        JsonView::Members members(object);
        for (bool first = true; members.Next(); first = false) {
            if (!first) out += ',';
            AppendJsonString(out, members.key());
            out += ':';
            if (auto done = Append(members.value()); !done) return done;
        }
        out += '}';
        return {};
    }

    Result<void> AppendSpecial(const JsonView& object) {
        std::string_view literal;
        const auto read = ReadSpecial(object, literal);
        if (!read) return std::unexpected(read.error());
        if (!*read) {
            out += literal;
            return {};
        }
        const Reference& reference = **read;
        const auto there = AppendPart(reference);
        if (!there) return std::unexpected(there.error());
        if (*there) return {};
        if (!reference.fallback) return Fail(ErrorCode::kNotFound, Describe(reference));
        out += *reference.fallback;
        return {};
    }

    Result<bool> AppendPart(const Reference& reference) {
        std::optional<std::string_view> whole;
        if (reference.kind == StepReference::Kind::kFrom) {
            whole = sources_.result ? sources_.result(reference.step) : std::nullopt;
        } else if (reference.kind == StepReference::Kind::kItem) {
            whole = sources_.item;
        } else if (!sources_.input.empty()) {
            whole = sources_.input;
        }
        if (!whole) return false;
        if (!CheckJson(*whole, kSourceJson)) {
            if (!reference.pointer.empty()) return false;
            AppendJsonString(out, *whole);
            return true;
        }
        std::string_view rest = reference.pointer;
        const JsonView part = Follow(*whole, rest);
        if (!rest.empty()) {
            const auto step = ReferredStep(part.raw());
            if (!step) return false;
            return Fail(ErrorCode::kExhausted, "'" + reference.pointer + "' cannot be taken from " +
                                                   SourceOf(reference) + ": the " +
                                                   GivenByReference(*step));
        }
        if (const auto step = sources_.compared ? FindReferred(part.raw()) : std::nullopt) {
            return Fail(ErrorCode::kExhausted, SourceOf(reference) + " cannot be compared: the " +
                                                   GivenByReference(*step));
        }
        out += part.raw();
        return true;
    }

    const ValueSources& sources_;
};

}  // namespace

bool MayRefer(std::string_view json) {
    return json.find('$') != json.npos && CheckJson(json, kAnyJson).has_value();
}

void ForEachReference(std::string_view json,
                      const std::function<void(const StepReference&)>& visit) {
    if (!MayRefer(json)) return;
    Walk(JsonView(json), [&](const JsonView& object) {
        std::string_view literal;
        const auto read = ReadSpecial(object, literal);
        if (read && *read) visit(**read);
    });
}

Result<void> CheckReferences(std::string_view json) {
    Result<void> checked;
    if (!MayRefer(json)) return checked;
    Walk(JsonView(json), [&](const JsonView& object) {
        std::string_view literal;
        const auto read = ReadSpecial(object, literal);
        if (!read && checked) checked = std::unexpected(read.error());
    });
    return checked;
}

Result<std::string> FillIn(std::string_view json, const ValueSources& sources) {
    if (!MayRefer(json)) return std::string(json);
    Filler filler(sources);
    if (auto done = filler.Append(JsonView(json)); !done) return std::unexpected(done.error());
    // Each part was checked when it came; one inside the other they may be nested deeper than is taken.
    if (auto good = CheckJson(filler.out, kAnyJson); !good) {
        return Fail(ErrorCode::kInvalid,
                    "with its references replaced it cannot be kept: " + good.error().detail);
    }
    return std::move(filler.out);
}

std::optional<std::string_view> AtPointer(std::string_view json, std::string_view pointer) {
    const JsonView value = Follow(json, pointer);
    if (!pointer.empty()) return std::nullopt;
    return value.raw();
}

bool SameJson(std::string_view a, std::string_view b) {
    const JsonView left(a);
    const JsonView right(b);
    if (left.raw() == right.raw()) return true;
    if (left.kind() != right.kind()) return false;
    switch (left.kind()) {
        case Kind::kNumber:
            return left.AsDouble() == right.AsDouble() && !(left.AsInteger() && right.AsInteger());
        case Kind::kString: {
            std::string one, other;
            return left.AsString(one) == right.AsString(other);
        }
        case Kind::kArray: {
            JsonView::Elements ones(left), others(right);
            for (;;) {
                const bool more = ones.Next();
                if (more != others.Next()) return false;
                if (!more) return true;
                if (!SameJson(ones.value().raw(), others.value().raw())) return false;
            }
        }
        case Kind::kObject: {
            std::map<std::string, std::string_view, std::less<>> members;
            JsonView::Members ones(left), others(right);
            while (ones.Next()) members.emplace(ones.key(), ones.value().raw());
            std::size_t count = 0;
            for (; others.Next(); ++count) {
                const auto found = members.find(others.key());
                if (found == members.end()) return false;
                if (!SameJson(found->second, others.value().raw())) return false;
            }
            return count == members.size();
        }
        default:
            return false;
    }
}

}  // namespace takt::internal
