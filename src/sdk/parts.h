// The parts that the whole library has and libtakt-client does not: stores and gRPC. Each of the two
// links one source that implements these: whole/whole_parts.cc or thin/thin_parts.cc.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "takt/executor.h"
#include "worker/handler.h"

namespace takt {

// The schedulers that a store knows of, as FindSchedulers and ListSchedulers of store/discovery.h.
internal::Result<std::vector<std::string>> FindByStore(const std::string& store_url);
internal::Result<std::vector<std::string>> ListByStore(const std::string& store_url);

internal::Result<std::shared_ptr<internal::TaskHandler>> MakeGrpcHandler(
    GrpcExecutorOptions options);

}  // namespace takt
