#include "sdk/parts.h"

namespace takt {
namespace {

std::unexpected<internal::Error> NoStores() {
    return internal::Fail(
        internal::ErrorCode::kInvalid,
        "store_url needs the stores, which libtakt-client does not have: name the "
        "schedulers in servers, or link with libtakt",
        "store_url");
}

}  // namespace

internal::Result<std::vector<std::string>> FindByStore(const std::string&) {
    return NoStores();
}

internal::Result<std::vector<std::string>> ListByStore(const std::string&) {
    return NoStores();
}

internal::Result<std::shared_ptr<internal::TaskHandler>> MakeGrpcHandler(GrpcExecutorOptions) {
    return internal::Fail(
        internal::ErrorCode::kInvalid,
        "a gRPC executor needs gRPC, which libtakt-client does not have: link with "
        "libtakt, or let MakeHttpExecutor call the service over HTTP");
}

}  // namespace takt
