// ExecutionReads: gathers the GETs of single executions that come in one turn of the server's loop
// into one read of the store. Under load a read then costs its row and not a wake-up of each thread
// on the way; at rest it costs one turn of an idle loop.
#pragma once

#include <vector>

#include "api/services.h"

namespace takt::internal {

// One execution, with all there is to say about it. `progress` may be null.
HttpResponse ExecutionAnswer(const Services& services, const Execution& execution,
                             const ProgressView* progress);

class ExecutionReads {
  public:
    // Answers the call with the execution, or that there is none. REQUIRES: on the server's thread.
    void Get(Call call, ExecutionId id);

  private:
    struct Wanted {
        ExecutionId id;
        Call call;
    };

    void Read(const std::shared_ptr<Services>& services);

    std::vector<Wanted> wanted_;
};

}  // namespace takt::internal
