#include "cli/task_flags.h"

#include <algorithm>
#include <fstream>
#include <iostream>

#include "base/json.h"

namespace takt::internal::cli {
namespace {

using Input = TaskField::Input;
using Kind = TaskField::Kind;

// The server takes no more; reading more from a pipe would only be refused later.
constexpr std::size_t kPayloadBytesMax = 1 << 20;

Result<std::string> ReadAll(std::istream& in, const std::string& name) {
    std::string text;
    char block[4096];
    while (in.read(block, sizeof block) || in.gcount() > 0) {
        text.append(block, static_cast<std::size_t>(in.gcount()));
        if (text.size() > kPayloadBytesMax) {
            return Fail(ErrorCode::kInvalid,
                        name + " is longer than 1 MiB, the most a payload may be");
        }
    }
    if (in.bad()) return Fail(ErrorCode::kInvalid, "cannot read " + name);
    return text;
}

Result<std::string> PayloadText(const std::string& given) {
    if (given == "-") return ReadAll(std::cin, "standard input");
    if (!given.starts_with('@')) return given;
    std::ifstream file(given.substr(1), std::ios::binary);
    if (!file) {
        return Fail(ErrorCode::kInvalid, "cannot read the payload's file " + given.substr(1));
    }
    return ReadAll(file, given.substr(1));
}

Result<std::pair<std::string, std::string>> Pair(const std::string& text, std::string_view flag) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0) {
        return Fail(ErrorCode::kInvalid,
                    std::string(flag) + " wants NAME=VALUE, not '" + text + "'");
    }
    return std::pair{text.substr(0, equals), text.substr(equals + 1)};
}

Result<std::string> PairsJson(const std::vector<std::string>& values, std::string_view flag) {
    GivenFields pairs;
    for (const std::string& value : values) {
        const auto pair = Pair(value, flag);
        if (!pair) return std::unexpected(pair.error());
        pairs.SetText(pair->first, pair->second);
    }
    return pairs.Body();
}

// All names of a field's flag, the usual one last: "--max-retry,--retries".
std::string FlagNames(const TaskField& field) {
    std::string names = FlagName(field.name);
    for (const std::string_view also : field.also) names += "," + FlagName(also);
    std::string_view more = field.flags;
    while (!more.empty()) {
        const std::size_t end = std::min(more.find(','), more.size());
        names += "," + FlagName(more.substr(0, end));
        more.remove_prefix(std::min(end + 1, more.size()));
    }
    return names;
}

std::string_view ValueName(Input input) {
    switch (input) {
        case Input::kPairs:
            return "NAME=VALUE";
        case Input::kJson:
        case Input::kPayload:
            return "JSON";
        default:
            return "VALUE";
    }
}

std::string_view GroupOf(Kind kind) {
    if (kind == Kind::kOnce) return "Tasks that run once";
    return kind == Kind::kRecurring ? "Tasks that run again and again" : "Task";
}

std::string HelpOf(const TaskField& field) {
    if (field.input == Input::kPayload) {
        return "Its input in JSON; @FILE reads a file, - standard input";
    }
    std::string help(field.about);
    if (help.ends_with('.')) help.pop_back();
    const bool repeated = field.input == Input::kPairs || field.input == Input::kList;
    return help + (repeated ? "; repeatable" : " (" + field.type + ")");
}

}  // namespace

Result<std::string> ReadPayload(const std::string& given, bool as_text) {
    auto payload = PayloadText(given);
    if (!payload || as_text) return payload ? Quoted(*payload) : payload;
    if (auto checked = CheckJson(*payload, {.bytes_max = kPayloadBytesMax}); !checked) {
        return Fail(ErrorCode::kInvalid, "the payload is not JSON (" + checked.error().detail +
                                             "); say --text to send it as a string");
    }
    return payload;
}

void TaskFlags::AddFlag(CLI::App& command, Purpose purpose, const TaskField& field) {
    flags_.push_back(std::make_unique<Flag>(Flag{&field, FlagName(field.name), {}}));
    std::string names = FlagNames(field);
    if (field.input == Input::kPayload && purpose == Purpose::kNew) names = "payload," + names;
    const bool repeated = field.input == Input::kPairs || field.input == Input::kList;
    CLI::Option* option = command.add_option(names, flags_.back()->values, HelpOf(field))
                              ->type_name(std::string(ValueName(field.input)))
                              ->group(std::string(GroupOf(field.kind)));
    // A value for each time that the flag is given, and none that follows it by chance.
    option->expected(1)->allow_extra_args(false);
    option->multi_option_policy(repeated ? CLI::MultiOptionPolicy::TakeAll
                                         : CLI::MultiOptionPolicy::Throw);
}

void TaskFlags::Add(CLI::App& command, Purpose purpose) {
    for (const TaskField& field : TaskFields()) {
        // A field that stands alone on the command line is no flag.
        const bool alone = purpose == Purpose::kNew ? field.name == "type" : field.name == "id";
        const bool unfit = purpose == Purpose::kPreview  ? field.kind != Kind::kRecurring
                           : purpose == Purpose::kChange ? field.kind == Kind::kOnce
                                                         : false;
        if (field.kind == Kind::kReadOnly || alone || unfit) continue;
        AddFlag(command, purpose, field);
    }
    if (purpose != Purpose::kPreview) {
        command.add_flag("--text", text_, "The payload is text, not JSON")->group("Task");
    }
    command
        .add_option(purpose == Purpose::kChange ? "--field,--set" : "--field", others_,
                    purpose == Purpose::kChange
                        ? "A field by its name in the API, value in JSON, null for its default; "
                          "repeatable"
                        : "A field by its name in the API, value in JSON; repeatable")
        ->type_name("NAME=JSON")
        ->group("Task");
}

Result<std::string> TaskFlags::ValueOf(const Flag& flag) const {
    const std::string& first = flag.values.front();
    switch (flag.field->input) {
        case Input::kPayload:
            return ReadPayload(first, text_);
        case Input::kPairs:
            return PairsJson(flag.values, flag.name);
        case Input::kList:
            return ListJson(flag.values);
        case Input::kValue:
            return NumberOrText(first);
        case Input::kTruth:
        case Input::kJson:
            return JsonOrText(first);
        default:
            return Quoted(first);
    }
}

Result<GivenFields> TaskFlags::Given() const {
    GivenFields given;
    for (const auto& flag : flags_) {
        if (flag->values.empty()) continue;
        auto value = ValueOf(*flag);
        if (!value) return std::unexpected(value.error());
        given.Set(flag->field->name, std::move(*value));
    }
    for (const std::string& other : others_) {
        const auto pair = Pair(other, "--field");
        if (!pair) return std::unexpected(pair.error());
        const auto known = FindTaskField(pair->first);
        given.Set(known ? TaskFields()[*known].name : pair->first, JsonOrText(pair->second));
    }
    return given;
}

}  // namespace takt::internal::cli
