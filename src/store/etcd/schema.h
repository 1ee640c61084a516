// Schema: the layout of what is kept under the keys (keys.h), and how data of earlier layouts
// becomes data of this one. store/layout.h has the rules.
//
// Layout 2 has what layout 1 did not know (children of runs, records, the audit, partitions beside 0)
// under keys of their own, so that nothing moves: data of layout 1 is partition 0 without them. An
// older version would not purge or load them, which is why the number is another.
//
// Layout 3 has pages (page.h), which an older version would not read. An execution of layout 2 keeps
// the keys of its own, as others do that no page takes, so that nothing moves here either.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "store/etcd/async.h"
#include "store/etcd/client.h"
#include "store/etcd/keys.h"
#include "store/layout.h"
#include "store/store.h"

namespace takt::internal::etcd {

constexpr unsigned kLayout = 3;
// Schedulers from before there was a second layout to raise to do not announce theirs.
constexpr unsigned kLayoutUnsaid = 1;

// Changes all rows from layout `to` - 1 to `to`, in bounded pieces. Repeatable; each piece compares
// the leader key with the term, and ends with kFenced if they differ.
struct LayoutStep {
    unsigned to = 0;
    std::function<Async<Result<void>>(Client& client, const Keys& keys, Term term)> run;
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
    Async<Result<void>> RunSteps(Client& client, const Keys& keys, Term term, unsigned from) const;
};

}  // namespace takt::internal::etcd
