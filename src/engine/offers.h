// Offers: which workers are of the kind that a lane asks for.
//
// Workers mostly differ in few ways, and what a lane asks for mostly names a type or label that few of
// them have. So who serves a new lane is found without looking at each worker.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

#include "base/text.h"
#include "engine/lanes.h"
#include "engine/slot.h"
#include "model/task.h"

namespace takt::internal {

// Workers that offer just the same; their own ids aside, they serve the same lanes.
struct Offer {
    std::map<std::uint64_t, Slot*> slots;  // By their order.
    std::uint64_t number = 0;
    Worker row;  // What it is that they offer.
    std::uint64_t mark = 0;
};

class Offers {
  public:
    // The worker is known as what its row says. REQUIRES: it is not known.
    void Add(Slot& slot);
    // REQUIRES: its row is as it was.
    void Remove(Slot& slot);

    // Another worker that offers the same; null if there is none.
    const Slot* Like(const Slot& slot) const;

    // Offers with the same types and queues; a lane without labels and target asks for no more.
    struct Group {
        std::map<std::uint64_t, Offer*> offers;  // By number.
        std::uint64_t number = 0;
        std::uint64_t mark = 0;
        Worker row;
    };
    // The workers that serve a lane.
    struct Found {
        std::vector<const Group*> groups;  // All of these, …
        std::vector<const Offer*> offers;  // … of these, …
        std::vector<Slot*> slots;          // … and these.
        std::uint64_t mark = 0;            // As a crew's.
        // In the order in which they joined.
        std::vector<Slot*> Members() const;
    };
    // Looks at few others.
    Found WhoServes(const Lane& lane) const;

    // How many groups and offers the last question looked at; for tests.
    std::size_t looked_at() const { return looked_at_; }

  private:
    using OfferKey = std::tuple<std::vector<Text>, std::vector<Text>, Pairs, Text>;
    using GroupKey = std::pair<std::vector<Text>, std::vector<Text>>;
    template <typename T>
    using Listed = std::map<std::uint64_t, T*>;
    template <typename T>
    using ByName = std::map<Text, Listed<T>>;

    const Listed<Offer>* FewestOf(const Lane& lane) const;
    void AddPlain(const Lane& lane, Found& found) const;

    std::map<OfferKey, std::unique_ptr<Offer>> offers_;
    std::map<GroupKey, std::unique_ptr<Group>> groups_;
    // Under the empty name those that take every type, every queue.
    ByName<Group> by_type_, by_queue_;
    ByName<Offer> by_group_;
    std::map<std::pair<Text, Text>, Listed<Offer>> by_label_;
    std::map<Text, Slot*> by_id_;
    std::uint64_t made_ = 0;
    mutable std::size_t looked_at_ = 0;
};

}  // namespace takt::internal
