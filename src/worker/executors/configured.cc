#include "worker/executors/configured.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "worker/executors/grpc_executor.h"
#include "worker/executors/http_executor.h"

namespace takt::internal {
namespace {

constexpr std::array<std::string_view, 7> kExecutorFields = {"type",    "protocol", "url", "token",
                                                             "ca_file", "timeout",  "tls"};

std::unexpected<Error> BadExecutor(std::string_view field, std::string_view why) {
    return Fail(ErrorCode::kInvalid, std::string(field) + " " + std::string(why),
                std::string(field));
}

std::string FieldOf(const ExecutorFields& fields, const std::string& name) {
    const auto found = fields.find(name);
    return found == fields.end() ? std::string() : found->second;
}

Result<std::shared_ptr<Executor>> MakeHttp(HttpExecutorOptions options, const std::string& token) {
    if (!token.empty() && !options.url.starts_with("https://")) {
        return BadExecutor("token", "is sent over https only");
    }
    if (!token.empty()) options.headers.emplace_back("Authorization", "Bearer " + token);
    auto made = HttpExecutor::Create(std::move(options));
    if (!made) return std::unexpected(made.error());
    return std::shared_ptr<Executor>(std::move(*made));
}

Result<std::shared_ptr<Executor>> MakeGrpc(GrpcExecutorOptions options) {
    auto made = GrpcExecutor::Create(std::move(options));
    if (!made) return std::unexpected(made.error());
    return std::shared_ptr<Executor>(std::move(*made));
}

}  // namespace

Result<std::shared_ptr<Executor>> MakeConfiguredExecutor(const ExecutorFields& fields) {
    for (const auto& [name, value] : fields) {
        if (std::ranges::find(kExecutorFields, name) != kExecutorFields.end()) continue;
        return BadExecutor(name,
                           "is no field of an executor: type, protocol, url, token, ca_file, "
                           "timeout, tls");
    }
    const std::string type = FieldOf(fields, "type");
    const std::string protocol = FieldOf(fields, "protocol");
    const std::string url = FieldOf(fields, "url");
    const std::string token = FieldOf(fields, "token");
    const std::string tls = FieldOf(fields, "tls");
    if (type.empty()) return BadExecutor("type", "is missing: the task type that it runs");
    if (url.empty()) return BadExecutor("url", "is missing: where it is called");
    Duration timeout{30'000};
    if (const std::string text = FieldOf(fields, "timeout"); !text.empty()) {
        const auto parsed = ParseDuration(text);
        if (!parsed || *parsed <= Duration(0)) {
            return BadExecutor("timeout", "must be a duration above 0 such as 30s");
        }
        timeout = *parsed;
    }
    if (protocol == "http") {
        if (!tls.empty()) return BadExecutor("tls", "is for grpc; write https:// in url");
        HttpExecutorOptions options{.type = type, .url = url, .timeout = timeout};
        options.client.tls.ca_file = FieldOf(fields, "ca_file");
        return MakeHttp(std::move(options), token);
    }
    if (protocol != "grpc") return BadExecutor("protocol", "must be http or grpc");
    if (!tls.empty() && tls != "true" && tls != "false") {
        return BadExecutor("tls", "must be true or false");
    }
    return MakeGrpc({.type = type,
                     .address = url,
                     .tls = tls == "true",
                     .ca_file = FieldOf(fields, "ca_file"),
                     .token = token,
                     .timeout = timeout});
}

}  // namespace takt::internal
