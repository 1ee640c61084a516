#include "cli/task_flags.h"

#include <fstream>
#include <iostream>
#include <utility>

#include "base/json.h"

namespace takt::internal::cli {
namespace {

// What the server takes at most; reading more from a pipe would only be refused later.
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
    if (!file)
        return Fail(ErrorCode::kInvalid, "cannot read the payload's file " + given.substr(1));
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

}  // namespace

Result<boost::json::value> ReadPayload(const std::string& given, bool as_text) {
    auto payload = PayloadText(given);
    if (!payload) return std::unexpected(payload.error());
    if (as_text) return boost::json::value(*payload);
    auto value = ParseJson(*payload, {.bytes_max = kPayloadBytesMax});
    if (!value) {
        return Fail(ErrorCode::kInvalid, "the payload is not JSON (" + value.error().detail +
                                             "); say --text to send it as a string");
    }
    return value;
}

void TaskFlags::Add(CLI::App& command, Purpose purpose) {
    const bool is_new = purpose == Purpose::kNew;
    const auto help = [is_new](std::string text, const char* otherwise) {
        return is_new ? text + " [" + otherwise + "]" : text;
    };
    command.add_option(is_new ? "payload,--payload" : "--payload", payload,
                       "Its input in JSON; @FILE reads a file, - standard input");
    command.add_flag("--text", text, "The payload is text, not JSON");
    command.add_option("--name", name, help("What people call it", "the type"));
    command.add_option("--queue", queue, help("Queue", "default"));
    command.add_option("-p,--priority", priority, help("0 to 9 or low, normal, high, urgent", "5"));
    command.add_option("--cron", cron, "Run it again and again: '0 2 * * *'");
    command.add_option("--every", every, "Run it again and again: 10m");
    command.add_option("--timezone", timezone, help("Of --cron: Asia/Shanghai", "UTC"));
    command.add_option("--retries", retries, "How often to try again after a failure");
    command.add_option("--timeout", timeout, "How long one attempt may take");
    command.add_option("--executor", executor, "Group of workers or executor to run it");
    command.add_option("--label", labels, "NAME=VALUE that a worker must have; repeatable")
        ->type_name("NAME=VALUE");
    AddFields(command, is_new ? "--field" : "--field,--set",
              is_new ? "Any other field of POST /api/v1/tasks, value in JSON; repeatable"
                     : "Any other field of PATCH /api/v1/tasks/{id}, value in JSON, null for its "
                       "default; repeatable");
}

void TaskFlags::AddFields(CLI::App& command, const std::string& names, const std::string& help) {
    command.add_option(names, fields, help)->type_name("NAME=JSON");
}

Result<boost::json::object> TaskFlags::ToJson() const {
    boost::json::object task;
    const std::pair<const char*, const std::string*> texts[] = {
        {"name", &name},       {"queue", &queue},       {"cron", &cron},        {"every", &every},
        {"timeout", &timeout}, {"timezone", &timezone}, {"executor", &executor}};
    for (const auto& [field, value] : texts) {
        if (!value->empty()) task[field] = *value;
    }
    // Numbers or words: what they may be is the server's to say.
    const std::pair<const char*, const std::string*> values[] = {{"priority", &priority},
                                                                 {"max_retry", &retries}};
    for (const auto& [field, value] : values) {
        if (value->empty()) continue;
        auto parsed = ParseJson(*value);
        const bool number = parsed && parsed->is_number();
        task[field] = number ? std::move(*parsed) : boost::json::value(*value);
    }
    if (!payload.empty()) {
        auto value = ReadPayload(payload, text);
        if (!value) return std::unexpected(value.error());
        task["payload"] = std::move(*value);
    }
    boost::json::object wanted;
    for (const std::string& label : labels) {
        const auto pair = Pair(label, "--label");
        if (!pair) return std::unexpected(pair.error());
        wanted[pair->first] = pair->second;
    }
    if (!wanted.empty()) task["labels"] = std::move(wanted);
    for (const std::string& field : fields) {
        const auto pair = Pair(field, "--field");
        if (!pair) return std::unexpected(pair.error());
        auto value = ParseJson(pair->second);
        task[pair->first] = value ? std::move(*value) : boost::json::value(pair->second);
    }
    return task;
}

}  // namespace takt::internal::cli
