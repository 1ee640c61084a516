#include "engine/crew.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/check.h"

namespace takt::internal {
namespace {

// A number of 64 bits for each worker, such that two sets of workers whose numbers give the same by
// XOR are not met with (the last steps of splitmix64).
std::uint64_t MarkOf(const Slot& slot) {
    std::uint64_t mark = slot.order * 0x9e3779b97f4a7c15;
    mark = (mark ^ (mark >> 30)) * 0xbf58476d1ce4e5b9;
    mark = (mark ^ (mark >> 27)) * 0x94d049bb133111eb;
    return mark ^ (mark >> 31);
}

constexpr std::size_t kWord = 64;

// Adds the worker, or takes it out; true if it is there now.
bool ToggleIn(std::vector<Slot*>& members, Slot& slot) {
    const auto at = std::ranges::lower_bound(members, slot.order, {}, &Slot::order);
    const bool there = at != members.end() && *at == &slot;
    there ? members.erase(at) : members.insert(at, &slot);
    return !there;
}

}  // namespace

// --- Members --------------------------------------------------------------------------------------

std::size_t Crew::PlaceOf(std::uint64_t order) const {
    const auto at = std::ranges::lower_bound(members_, order, {}, &Slot::order);
    return static_cast<std::size_t>(at - members_.begin());
}

bool Crew::Has(const Slot& slot) const {
    const std::size_t place = PlaceOf(slot.order);
    return place < members_.size() && members_[place] == &slot;
}

void Crew::Toggle(Slot& slot) {
    if (ToggleIn(members_, slot)) {
        slot.crews.push_back(this);
    } else {
        std::erase(slot.crews, this);
    }
    mark_ ^= MarkOf(slot);
    CountFree();
}

void Crew::CountFree() {
    free_ = 0;
    with_room_.assign((members_.size() + kWord - 1) / kWord, 0);
    for (std::size_t place = 0; place < members_.size(); ++place) {
        if (members_[place]->can_take) SetRoom(place, true);
    }
}

void Crew::SetRoom(std::size_t place, bool room) {
    std::uint64_t& word = with_room_[place / kWord];
    const std::uint64_t bit = std::uint64_t{1} << (place % kWord);
    if (((word & bit) != 0) == room) return;
    word ^= bit;
    room ? ++free_ : --free_;
}

void Crew::Refresh(const Slot& slot) {
    SetRoom(PlaceOf(slot.order), slot.can_take);
}

void Crew::FindFree(std::uint64_t after, std::size_t count_max, std::vector<Slot*>& found) const {
    const auto add = [&](std::size_t from, std::size_t to) {
        for (std::size_t i = from / kWord; i < with_room_.size() && i * kWord < to; ++i) {
            std::uint64_t word = with_room_[i];
            if (i == from / kWord) word &= ~std::uint64_t{0} << (from % kWord);
            for (; word != 0; word &= word - 1) {
                const std::size_t place = i * kWord + std::size_t(std::countr_zero(word));
                if (place >= to || found.size() >= count_max) return;
                found.push_back(members_[place]);
            }
        }
    };
    const std::size_t next = PlaceOf(after + 1);
    add(next, members_.size());
    add(0, next);
}

// --- Lanes ----------------------------------------------------------------------------------------

Lane* Crew::First(Steady now) {
    while (!ready_.empty()) {
        Bay& bay = *ready_.next();
        if (bay.queue->Open(now)) return bay.ready.next();
        ready_.Remove(bay);
        bay.shut = true;
    }
    return nullptr;
}

void Crew::Rank(Bay& bay) {
    if (bay.shut || bay.ready.empty()) return ready_.Remove(bay);
    ready_.Set(bay, bay.ready.next_at(), 0);
}

Bay& Crew::BayOf(Queue& queue) {
    auto& bay = bays_[queue.number];
    if (bay) return *bay;
    bay = std::make_unique<Bay>();
    bay->crew = this;
    bay->queue = &queue;
    queue.bays.push_back(bay.get());
    return *bay;
}

// --- Crews ----------------------------------------------------------------------------------------

Crew& Crews::Make(const std::vector<Slot*>& members, std::uint64_t mark) {
    auto& crew = crews_[mark];
    TAKT_CHECK(!crew);
    crew = std::make_unique<Crew>(++made_);
    crew->mark_ = mark;
    crew->members_ = members;
    crew->CountFree();
    for (Slot* slot : members) slot->crews.push_back(crew.get());
    return *crew;
}

void Crews::Put(Lane& lane, Crew& crew) {
    lane.bay = &crew.BayOf(*lane.queue);
    ++lane.bay->lanes;
    ++crew.lanes_;
    lane.Rank();
}

// A bay or a crew without lanes is forgotten.
void Crews::Take(Lane& lane) {
    Bay& bay = *lane.bay;
    Crew& crew = *bay.crew;
    bay.ready.Remove(lane);
    crew.Rank(bay);
    lane.bay = nullptr;
    --crew.lanes_;
    if (--bay.lanes > 0) return;
    std::erase(lane.queue->bays, &bay);
    crew.bays_.erase(lane.queue->number);
    if (crew.lanes_ > 0) return;
    for (Slot* slot : crew.members_) std::erase(slot->crews, &crew);
    crews_.erase(crew.mark_);
}

void Crews::Place(Lane& lane, const std::vector<Slot*>& members) {
    std::uint64_t mark = 0;
    for (const Slot* slot : members) mark ^= MarkOf(*slot);
    const auto found = crews_.find(mark);
    Put(lane, found != crews_.end() ? *found->second : Make(members, mark));
}

void Crews::Remove(Lane& lane) {
    TAKT_CHECK(lane.empty());
    Take(lane);
}

void Crews::Toggle(Slot& slot, std::vector<Lane*> lanes) {
    std::ranges::sort(
        lanes, {}, [](const Lane* lane) { return std::pair(lane->crew().number(), lane->number); });
    for (auto first = lanes.begin(); first != lanes.end();) {
        Crew& crew = *(*first)->bay->crew;
        const auto last = std::find_if(first, lanes.end(),
                                       [&](const Lane* lane) { return &lane->crew() != &crew; });
        ToggleOne(slot, crew, {first, last});
        first = last;
    }
}

// REQUIRES: all are lanes of the crew.
void Crews::ToggleOne(Slot& slot, Crew& crew, std::span<Lane* const> lanes) {
    const std::uint64_t mark = crew.mark_ ^ MarkOf(slot);
    const auto other = crews_.find(mark);
    if (other == crews_.end() && lanes.size() == crew.lanes_) {
        // The crew itself gets or loses a member; most workers come and go like this.
        auto node = crews_.extract(crew.mark_);
        node.key() = mark;
        crews_.insert(std::move(node));
        return crew.Toggle(slot);
    }
    std::vector<Slot*> members = crew.members_;
    ToggleIn(members, slot);
    Crew& next = other != crews_.end() ? *other->second : Make(members, mark);
    for (Lane* lane : lanes) {
        Take(*lane);
        Put(*lane, next);
    }
}

}  // namespace takt::internal
