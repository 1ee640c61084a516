// The body of a call, read by the table of its fields.
#pragma once

#include <utility>

#include "api/request_table.h"
#include "api/services.h"

namespace takt::internal {

// Into `request`, which has what the body may leave out. kInvalid names the field at fault,
// kExhausted says that the body is too long. A body that is optional may be empty.
template <typename Request>
Result<Request> ReadBody(const Call& call, const RequestTable<Request>& fields,
                         Request request = {}) {
    const std::string& body = call.request().body;
    if (body.empty() && call.route().body_optional) return request;
    const auto object = ReadObject(body, call.route().body_bytes_max);
    if (!object) return std::unexpected(object.error());
    return ReadRequest(fields, *object, std::move(request));
}

}  // namespace takt::internal
