// Schema: the layout of what is kept under the keys (keys.h), and how data of earlier layouts
// becomes data of this one. store/layout.h has the rules.
//
// Layout 1 (one hash per execution) was never in a release, so there is no step from it. Layout 3 has
// what layout 2 did not know (children of runs, records, the audit) under keys of their own, so that
// nothing moves: data of layout 2 is a partition without them. An older version would not purge or
// load them, which is why the number is another. Layout 4 has settings in a hash for each group, output
// of executions in lists instead of streams, and the order of their ends in a list instead of a sorted
// set, which only has those that came finished. Settings are moved; streams and the sorted set stay as
// they are, are read, and empty themselves.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "store/layout.h"
#include "store/redis/client.h"
#include "store/redis/keys.h"
#include "store/store.h"

namespace takt::internal::redis {

constexpr unsigned kLayout = 4;
// Schedulers from before there was a second layout to raise to do not announce theirs, nor note it in
// the fence.
constexpr unsigned kLayoutUnsaid = 2;
// From this one on leaders are in a list of their own; see Leases.
constexpr unsigned kLayoutOfLeaders = 3;

// Changes the rows of one partition from layout `to` - 1 to `to`, in bounded pieces. Repeatable; each
// piece compares epoch and nonce of the fence with the term, and ends with kFenced if they differ.
struct LayoutStep {
    unsigned to = 0;
    std::function<void(Client& client, const PartitionKeys& keys, const Term& term,
                       Done<void> done)>
        run;
};

// From the layouts before to kLayout.
std::vector<LayoutStep> StepsToKnown();

struct Schema {
    unsigned known = kLayout;
    std::vector<LayoutStep> steps = StepsToKnown();  // By rising number, up to `known`.

    LayoutRange range() const {
        return {.oldest = known - static_cast<unsigned>(steps.size()), .known = known};
    }
    // Runs the steps behind `from`, one after the other.
    void RunSteps(Client& client, const PartitionKeys& keys, const Term& term, unsigned from,
                  Done<void> done) const;
};

// Of the data that is there already, before anybody leads. kInvalid, with a sentence for the
// operator, if this version can never use it.
Result<void> CheckLayout(std::string_view stored, const Schema& schema);

}  // namespace takt::internal::redis
