// Answers of the REST API, read: what every call of a SchedulerApi has in common.
#pragma once

#include <string>
#include <utility>

#include "base/json.h"
#include "remote/remote.h"
#include "sdk/convert.h"
#include "sdk/json_fields.h"
#include "takt/error.h"

namespace takt {

template <typename Read>
using Read_t = decltype(std::declval<Read>()(std::declval<const JsonFields&>()));

// The answer, which is an object, as `read` understands it.
template <typename Read>
Result<Read_t<Read>> ReadAnswer(const internal::Result<std::string>& answer, Read read) {
    if (!answer) return ErrorOf(answer.error());
    const internal::JsonLimits limits{.bytes_max = answer->size(),
                                      .depth_max = internal::kAnswerDepthMax};
    if (auto checked = internal::CheckJson(*answer, limits); !checked) {
        return ErrorOf(internal::NotJson("the scheduler", checked.error()));
    }
    return read(JsonFields(internal::JsonView(*answer)));
}

}  // namespace takt
