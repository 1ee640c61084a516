#include "cli/request_flags.h"

#include <algorithm>

namespace takt::internal::cli {
namespace {

bool IsList(const FieldView& field) {
    return field.schema.starts_with(R"({"type":"array")");
}

bool IsText(const FieldView& field) {
    return field.schema.starts_with(R"({"type":"string")") ||
           field.schema.starts_with(R"({"type":["string","null"])") ||
           field.schema.starts_with(R"({"enum")");
}

std::string FlagHelp(const FieldView& field) {
    std::string help(field.about);
    if (help.ends_with('.')) help.pop_back();
    if (field.clears && !IsText(field)) help += help.empty() ? "none: no limit" : "; none: as null";
    return help.empty() ? field.words : help + " (" + field.words + ")";
}

std::string FlagJson(const FieldView& field, const std::vector<std::string>& values) {
    if (IsList(field)) return ListJson(values);
    if (IsText(field)) return Quoted(values.front());
    if (field.clears && values.front() == "none") return "null";
    return JsonOrText(values.front());
}

}  // namespace

void RequestFlags::Add(CLI::App& command, std::vector<FieldView> fields,
                       const Exceptions& exceptions) {
    for (FieldView& field : fields) {
        if (std::ranges::find(exceptions.without, field.name) != exceptions.without.end()) continue;
        std::string names = FlagName(field.name);
        for (const auto& [name, flag] : exceptions.also) {
            if (name == field.name) names += "," + flag;
        }
        flags_.push_back(std::make_unique<Flag>(Flag{std::move(field), {}}));
        Flag& flag = *flags_.back();
        CLI::Option* option = command.add_option(names, flag.values, FlagHelp(flag.field));
        option->required(flag.field.required)->expected(1)->allow_extra_args(false);
        option->type_name("VALUE");
        if (IsList(flag.field)) {
            option->delimiter(',')->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
        } else {
            option->multi_option_policy(CLI::MultiOptionPolicy::Throw);
        }
    }
}

GivenFields RequestFlags::Given() const {
    GivenFields given;
    for (const auto& flag : flags_) {
        if (!flag->values.empty()) given.Set(flag->field.name, FlagJson(flag->field, flag->values));
    }
    return given;
}

std::string RequestFlags::Names() const {
    std::string names;
    for (const auto& flag : flags_) {
        if (!names.empty()) names += ", ";
        names += FlagName(flag->field.name);
    }
    return names;
}

}  // namespace takt::internal::cli
