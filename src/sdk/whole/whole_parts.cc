#include "sdk/parts.h"
#include "store/discovery.h"
#include "worker/grpc/grpc_handler.h"

namespace takt {

internal::Result<std::vector<std::string>> FindByStore(const std::string& store_url) {
    return internal::FindSchedulers(store_url);
}

internal::Result<std::vector<std::string>> ListByStore(const std::string& store_url) {
    return internal::ListSchedulers(store_url);
}

internal::Result<std::shared_ptr<internal::TaskHandler>> MakeGrpcHandler(
    GrpcExecutorOptions options) {
    return internal::GrpcTaskHandler::Create({.type = std::move(options.type),
                                              .address = std::move(options.address),
                                              .tls = options.tls,
                                              .ca_file = std::move(options.ca_file),
                                              .token = std::move(options.token),
                                              .timeout = options.timeout});
}

}  // namespace takt
