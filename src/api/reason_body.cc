#include "api/reason_body.h"

#include "api/request_kinds.h"

namespace takt::internal {

const RequestTable<ReasonBody>& ReasonFields() {
    static const RequestTable<ReasonBody> fields = {
        {"reason", "Shown to whoever looks at it.",
         TakenBy<ReasonBody>::Text(&ReasonBody::reason, kReasonBytesMax)}};
    return fields;
}

}  // namespace takt::internal
