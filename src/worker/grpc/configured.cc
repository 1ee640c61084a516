#include "worker/grpc/configured.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "base/number.h"
#include "worker/grpc/grpc_handler.h"
#include "worker/handlers/http_handler.h"

namespace takt::internal {
namespace {

constexpr std::array<std::string_view, 7> kHandlerFields = {"type",    "protocol", "url", "token",
                                                            "ca_file", "timeout",  "tls"};

std::unexpected<Error> BadHandler(std::string_view field, std::string_view why) {
    return Fail(ErrorCode::kInvalid, std::string(field) + " " + std::string(why),
                std::string(field));
}

// What the handler itself says, under the name that the configuration has for the field.
std::unexpected<Error> BadOption(const Error& error, std::string_view field) {
    std::string_view why = error.detail;
    if (why.starts_with("URL ")) return BadHandler(field, why.substr(4));
    return Fail(error.code, std::string(field) + ": " + std::string(why), std::string(field));
}

std::string FieldOf(const HandlerFields& fields, const std::string& name) {
    const auto found = fields.find(name);
    return found == fields.end() ? std::string() : found->second;
}

Result<std::shared_ptr<TaskHandler>> MakeHttp(HttpHandlerOptions options,
                                              const std::string& token) {
    if (!token.empty() && !options.url.starts_with("https://")) {
        return BadHandler("token", "is sent over https only");
    }
    if (!token.empty()) options.headers.emplace_back("Authorization", "Bearer " + token);
    auto made = HttpTaskHandler::Create(std::move(options));
    // The rest of what it is made from is the certificate.
    if (!made) return BadOption(made.error(), made.error().field == "url" ? "url" : "ca_file");
    return std::shared_ptr<TaskHandler>(std::move(*made));
}

// gRPC's own reading would take a port of its choice, and say so only when a task fails.
bool HasPort(std::string_view address) {
    const std::size_t colon = address.rfind(':');
    const auto port = colon == std::string_view::npos
                          ? std::nullopt
                          : ParseNumber<std::uint16_t>(address.substr(colon + 1));
    return port && *port > 0 && colon > 0;
}

Result<std::shared_ptr<TaskHandler>> MakeGrpc(GrpcHandlerOptions options) {
    if (!options.address.starts_with("unix:") && !HasPort(options.address)) {
        return BadHandler("url", "must be HOST:PORT, but is '" + options.address + "'");
    }
    auto made = GrpcTaskHandler::Create(std::move(options));
    if (!made) return BadOption(made.error(), made.error().field);
    return std::shared_ptr<TaskHandler>(std::move(*made));
}

}  // namespace

Result<std::shared_ptr<TaskHandler>> MakeConfiguredHandler(const HandlerFields& fields) {
    for (const auto& [name, value] : fields) {
        if (std::ranges::find(kHandlerFields, name) != kHandlerFields.end()) continue;
        return BadHandler(name,
                          "is no field of a handler: type, protocol, url, token, ca_file, "
                          "timeout, tls");
    }
    const std::string type = FieldOf(fields, "type");
    const std::string protocol = FieldOf(fields, "protocol");
    const std::string url = FieldOf(fields, "url");
    const std::string token = FieldOf(fields, "token");
    const std::string tls = FieldOf(fields, "tls");
    if (type.empty()) return BadHandler("type", "is missing: the task type that it runs");
    if (url.empty()) return BadHandler("url", "is missing: where it is called");
    Duration timeout{30'000};
    if (const std::string text = FieldOf(fields, "timeout"); !text.empty()) {
        const auto parsed = ParseDuration(text);
        if (!parsed || *parsed <= Duration(0)) {
            return BadHandler("timeout", "must be a duration above 0 such as 30s");
        }
        timeout = *parsed;
    }
    if (protocol == "http") {
        if (!tls.empty()) return BadHandler("tls", "is for grpc; write https:// in url");
        HttpHandlerOptions options{.type = type, .url = url, .timeout = timeout};
        options.client.tls.ca_file = FieldOf(fields, "ca_file");
        return MakeHttp(std::move(options), token);
    }
    if (protocol != "grpc") return BadHandler("protocol", "must be http or grpc");
    if (!tls.empty() && tls != "true" && tls != "false") {
        return BadHandler("tls", "must be true or false");
    }
    return MakeGrpc({.type = type,
                     .address = url,
                     .tls = tls == "true",
                     .ca_file = FieldOf(fields, "ca_file"),
                     .token = token,
                     .timeout = timeout});
}

}  // namespace takt::internal
