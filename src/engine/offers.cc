#include "engine/offers.h"

#include <algorithm>

#include "base/check.h"
#include "engine/crew.h"

namespace takt::internal {
namespace {

// Calls `visit` with each name that is listed, or with the empty one if the list means all.
template <typename Visit>
void ForEachName(const std::vector<Text>& names, Visit visit) {
    if (names.empty()) return visit(Text());
    for (const Text& name : names) visit(name);
}

template <typename Index, typename Key, typename T>
void List(Index& index, const Key& key, T& one) {
    index[key].emplace(one.number, &one);
}
template <typename Index, typename Key, typename T>
void Unlist(Index& index, const Key& key, const T& one) {
    const auto found = index.find(key);
    if (found == index.end()) return;
    found->second.erase(one.number);
    if (found->second.empty()) index.erase(found);
}

template <typename Index, typename Key>
auto* FindListed(const Index& index, const Key& key) {
    const auto found = index.find(key);
    return found == index.end() ? nullptr : &found->second;
}

}  // namespace

void Offers::Add(Slot& slot) {
    TAKT_CHECK(!slot.offer);
    const Worker& row = slot.row;
    auto& offer = offers_[{row.types, row.queues, row.labels, row.group}];
    auto& group = groups_[{row.types, row.queues}];
    if (!group) {
        group = std::make_unique<Group>();
        group->number = ++made_;
        group->row.types = row.types;
        group->row.queues = row.queues;
        ForEachName(row.types, [&](const Text& name) { List(by_type_, name, *group); });
        ForEachName(row.queues, [&](const Text& name) { List(by_queue_, name, *group); });
    }
    if (!offer) {
        offer = std::make_unique<Offer>();
        offer->number = ++made_;
        offer->row.types = row.types;
        offer->row.queues = row.queues;
        offer->row.labels = row.labels;
        offer->row.group = row.group;
        for (const auto& label : row.labels) List(by_label_, label, *offer);
        List(by_group_, row.group, *offer);
        group->offers.emplace(offer->number, offer.get());
    }
    offer->slots.emplace(slot.order, &slot);
    offer->mark ^= MarkOf(slot);
    group->mark ^= MarkOf(slot);
    slot.offer = offer.get();
    by_id_.emplace(row.id.text(), &slot);
}

void Offers::Remove(Slot& slot) {
    if (!slot.offer) return;
    const Worker row = slot.offer->row;
    const auto offer = offers_.find({row.types, row.queues, row.labels, row.group});
    const auto group = groups_.find({row.types, row.queues});
    offer->second->slots.erase(slot.order);
    offer->second->mark ^= MarkOf(slot);
    group->second->mark ^= MarkOf(slot);
    slot.offer = nullptr;
    by_id_.erase(slot.row.id.text());
    if (!offer->second->slots.empty()) return;
    for (const auto& label : row.labels) Unlist(by_label_, label, *offer->second);
    Unlist(by_group_, row.group, *offer->second);
    group->second->offers.erase(offer->second->number);
    offers_.erase(offer);
    if (!group->second->offers.empty()) return;
    ForEachName(row.types, [&](const Text& name) { Unlist(by_type_, name, *group->second); });
    ForEachName(row.queues, [&](const Text& name) { Unlist(by_queue_, name, *group->second); });
    groups_.erase(group);
}

const Slot* Offers::Like(const Slot& slot) const {
    for (const auto& [order, other] : slot.offer->slots) {
        if (other != &slot) return other;
    }
    return nullptr;
}

// Of the offers that carry one of the lane's labels or are its target, the shortest list; null if there
// is none.
const Offers::Listed<Offer>* Offers::FewestOf(const Lane& lane) const {
    const Listed<Offer>* fewest =
        lane.target.empty() ? nullptr : FindListed(by_group_, lane.target);
    if (!lane.target.empty() && !fewest) return nullptr;
    for (const auto& label : lane.labels) {
        const Listed<Offer>* carriers = FindListed(by_label_, label);
        if (!carriers) return nullptr;
        if (!fewest || carriers->size() < fewest->size()) fewest = carriers;
    }
    return fewest;
}

// It asks for a type and a queue only.
void Offers::AddPlain(const Lane& lane, Found& found) const {
    const auto count = [](const ByName<Group>& index, const Text& name) {
        const auto* named = FindListed(index, name);
        const auto* all = FindListed(index, Text());
        return (named ? named->size() : 0) + (all && !name.empty() ? all->size() : 0);
    };
    const auto add = [&](const Listed<Group>* groups) {
        if (!groups) return;
        for (const auto& [number, group] : *groups) {
            ++looked_at_;
            if (!Serves(group->row, lane)) continue;
            found.mark ^= group->mark;
            found.groups.push_back(group);
        }
    };
    const bool by_type = count(by_type_, lane.type) <= count(by_queue_, lane.queue->name);
    const ByName<Group>& index = by_type ? by_type_ : by_queue_;
    const Text& name = by_type ? lane.type : lane.queue->name;
    add(FindListed(index, name));
    if (!name.empty()) add(FindListed(index, Text()));
}

Offers::Found Offers::WhoServes(const Lane& lane) const {
    Found found;
    looked_at_ = 0;
    if (lane.runs) return found;
    if (lane.labels.empty() && lane.target.empty()) {
        AddPlain(lane, found);
        return found;
    }
    if (const Listed<Offer>* fewest = FewestOf(lane)) {
        for (const auto& [number, offer] : *fewest) {
            ++looked_at_;
            if (!Serves(offer->row, lane)) continue;
            found.mark ^= offer->mark;
            found.offers.push_back(offer);
        }
    }
    const auto aimed = by_id_.find(lane.target);
    if (lane.target.empty() || aimed == by_id_.end()) return found;
    Slot& slot = *aimed->second;
    if (slot.offer->row.group != lane.target && Serves(slot.row, lane)) {
        found.mark ^= MarkOf(slot);
        found.slots.push_back(&slot);
    }
    return found;
}

std::vector<Slot*> Offers::Found::Members() const {
    std::vector<Slot*> members = slots;
    const auto add = [&](const Offer& offer) {
        for (const auto& [order, slot] : offer.slots) members.push_back(slot);
    };
    for (const Group* group : groups) {
        for (const auto& [number, offer] : group->offers) add(*offer);
    }
    for (const Offer* offer : offers) add(*offer);
    std::ranges::sort(members, {}, &Slot::order);
    return members;
}

}  // namespace takt::internal
