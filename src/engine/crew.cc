#include "engine/crew.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/check.h"
#include "engine/holds.h"

namespace takt::internal {
namespace {

constexpr std::size_t kWord = 64;

// Adds the worker, or takes it out; true if it is there now.
bool ToggleIn(std::vector<Slot*>& members, Slot& slot) {
    const auto at = std::ranges::lower_bound(members, slot.order, {}, &Slot::order);
    const bool there = at != members.end() && *at == &slot;
    there ? members.erase(at) : members.insert(at, &slot);
    return !there;
}

// Bits from `place` on move up by one to make room for it, or down into its place.
void InsertBit(std::vector<std::uint64_t>& words, std::size_t place, std::size_t size) {
    if (size % kWord == 0) words.push_back(0);
    const std::uint64_t below = (std::uint64_t{1} << (place % kWord)) - 1;
    std::uint64_t& first = words[place / kWord];
    std::uint64_t carry = first >> (kWord - 1);
    first = (first & below) | (first & ~below) << 1;
    for (std::size_t i = place / kWord + 1; i < words.size(); ++i) {
        const std::uint64_t next = words[i] >> (kWord - 1);
        words[i] = words[i] << 1 | carry;
        carry = next;
    }
}
void EraseBit(std::vector<std::uint64_t>& words, std::size_t place, std::size_t size) {
    const std::uint64_t below = (std::uint64_t{1} << (place % kWord)) - 1;
    std::uint64_t& first = words[place / kWord];
    first = (first & below) | (first >> 1 & ~below);
    for (std::size_t i = place / kWord + 1; i < words.size(); ++i) {
        words[i - 1] |= words[i] << (kWord - 1);
        words[i] >>= 1;
    }
    if ((size - 1) % kWord == 0) words.pop_back();
}

}  // namespace

// The last steps of splitmix64.
std::uint64_t MarkOf(const Slot& slot) {
    std::uint64_t mark = slot.order * 0x9e3779b97f4a7c15;
    mark = (mark ^ (mark >> 30)) * 0xbf58476d1ce4e5b9;
    mark = (mark ^ (mark >> 27)) * 0x94d049bb133111eb;
    return mark ^ (mark >> 31);
}

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
    const std::size_t place = PlaceOf(slot.order);
    const std::size_t size = members_.size();
    mark_ ^= MarkOf(slot);
    if (place == size || members_[place] != &slot) {
        slot.crews.push_back(this);
        members_.insert(members_.begin() + std::ptrdiff_t(place), &slot);
        InsertBit(with_room_, place, size);
        if (slot.can_take) SetRoom(place, true);
        return;
    }
    std::erase(slot.crews, this);
    SetRoom(place, false);
    if (weighted_turns_) weighted_turns_->Forget(slot);
    members_.erase(members_.begin() + std::ptrdiff_t(place));
    EraseBit(with_room_, place, size);
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
    Slot& slot = *members_[place];
    if (hash_ring_) room ? hash_ring_->Add(slot) : hash_ring_->Remove(slot);
    if (weighted_turns_) room ? weighted_turns_->Add(slot) : weighted_turns_->Remove(slot);
}

template <typename Visit>
void Crew::ForEachFree(Visit visit) const {
    for (std::size_t i = 0; i < with_room_.size(); ++i) {
        for (std::uint64_t word = with_room_[i]; word != 0; word &= word - 1) {
            visit(*members_[i * kWord + std::size_t(std::countr_zero(word))]);
        }
    }
}

HashRing& Crew::hash_ring() {
    if (!hash_ring_) {
        hash_ring_ = std::make_unique<HashRing>();
        ForEachFree([&](Slot& slot) { hash_ring_->Add(slot); });
    }
    return *hash_ring_;
}

WeightedTurns& Crew::weighted_turns(std::uint64_t reset) {
    if (!weighted_turns_ || reset_ != reset) {
        weighted_turns_ = std::make_unique<WeightedTurns>();
        ForEachFree([&](Slot& slot) { weighted_turns_->Add(slot); });
        reset_ = reset;
    }
    return *weighted_turns_;
}

Slot* Crew::FindFree(std::uint64_t order) const {
    const std::size_t place = PlaceOf(order);
    if (place == members_.size() || members_[place]->order != order) return nullptr;
    return (with_room_[place / kWord] >> (place % kWord) & 1) != 0 ? members_[place] : nullptr;
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

void Sheaf::Rank() {
    if (open && !lines.empty()) {
        bay->limited.Set(*this, lines.next_at(), 0);
    } else {
        bay->limited.Remove(*this);
    }
    bay->crew->Rank(*bay);
}

Urgency Bay::urgency() const {
    if (limited.empty()) return ready.next_at();
    if (ready.empty()) return limited.next_at();
    return std::min(ready.next_at(), limited.next_at());
}

Live* Bay::front() const {
    const bool is_limited =
        ready.empty() || (!limited.empty() && limited.next_at() < ready.next_at());
    return is_limited ? limited.next()->lines.next()->waiting.front()
                      : ready.next()->first_waiting();
}

void Bay::Add(Line& line) {
    Hold& limit = *line.limit;
    auto& sheaf = sheaves[{limit.order, line.lane->runs}];
    if (!sheaf) {
        sheaf = std::make_unique<Sheaf>();
        sheaf->bay = this;
        sheaf->limit = &limit;
        sheaf->runs = line.lane->runs;
        sheaf->open = limit.open;
        PutIn(limit.sheaves, *sheaf);
    }
    line.sheaf = sheaf.get();
    line.Rank();
}

void Bay::Remove(Line& line) {
    Sheaf& sheaf = *std::exchange(line.sheaf, nullptr);
    sheaf.lines.Remove(line);
    sheaf.Rank();
    if (!sheaf.lines.empty()) return;
    TakeOut(sheaf.limit->sheaves, sheaf);
    sheaves.erase({sheaf.limit->order, sheaf.runs});
}

Live* Crew::First(Steady now) {
    while (!ready_.empty()) {
        Bay& bay = *ready_.next();
        if (bay.queue->Open(now)) return bay.front();
        ready_.Remove(bay);
        bay.shut = true;
    }
    return nullptr;
}

void Crew::Rank(Bay& bay) {
    if (bay.shut || bay.empty()) return ready_.Remove(bay);
    ready_.Set(bay, bay.urgency(), 0);
}

Bay& Crew::BayOf(Queue& queue) {
    auto& bay = bays_[queue.number];
    if (bay) return *bay;
    bay = std::make_unique<Bay>();
    bay->crew = this;
    bay->queue = &queue;
    PutIn(queue.bays, *bay);
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
    PutIn(lane.bay->lanes, lane);
    ++crew.lanes_;
    if (!lane.target.empty()) ++crew.aimed_;
    lane.Rank();
    for (Line* line : lane.lines) lane.bay->Add(*line);
}

// A bay or a crew without lanes is forgotten.
void Crews::Take(Lane& lane) {
    Bay& bay = *lane.bay;
    Crew& crew = *bay.crew;
    for (Line* line : lane.lines) bay.Remove(*line);
    bay.ready.Remove(lane);
    crew.Rank(bay);
    lane.bay = nullptr;
    --crew.lanes_;
    if (!lane.target.empty()) --crew.aimed_;
    TakeOut(bay.lanes, lane);
    if (!bay.lanes.empty()) return;
    TakeOut(lane.queue->bays, bay);
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

bool Crews::PlaceByMark(Lane& lane, std::uint64_t mark) {
    const auto found = crews_.find(mark);
    if (found == crews_.end()) return false;
    Put(lane, *found->second);
    return true;
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

// The worker is a member of the crew from now on, or not any more.
void Crews::Rekey(Crew& crew, Slot& slot) {
    auto node = crews_.extract(crew.mark_);
    crew.Toggle(slot);
    node.key() = crew.mark_;
    crews_.insert(std::move(node));
}

void Crews::ToggleAll(Slot& slot, Crew& crew) {
    const auto found = crews_.find(crew.mark_ ^ MarkOf(slot));
    // The crew itself gets or loses a member; most workers come and go like this.
    if (found == crews_.end()) return Rekey(crew, slot);
    // Two crews become one: the lanes of the smaller one go over.
    Crew& other = *found->second;
    const bool swap = other.lanes_ < crew.lanes_;
    Crew& small = swap ? other : crew;
    Crew& large = swap ? crew : other;
    std::vector<Lane*> lanes;
    small.ForEachLane([&](Lane& lane) { lanes.push_back(&lane); });
    for (Lane* lane : lanes) {
        Take(*lane);
        Put(*lane, large);
    }
    if (swap) Rekey(crew, slot);
}

// REQUIRES: all are lanes of the crew.
void Crews::ToggleOne(Slot& slot, Crew& crew, std::span<Lane* const> lanes) {
    if (lanes.size() == crew.lanes_) return ToggleAll(slot, crew);
    const std::uint64_t mark = crew.mark_ ^ MarkOf(slot);
    const auto other = crews_.find(mark);
    std::vector<Slot*> members = crew.members_;
    ToggleIn(members, slot);
    Crew& next = other != crews_.end() ? *other->second : Make(members, mark);
    for (Lane* lane : lanes) {
        Take(*lane);
        Put(*lane, next);
    }
}

void Crews::Leave(Slot& slot) {
    while (!slot.crews.empty()) ToggleAll(slot, *slot.crews.back());
}

}  // namespace takt::internal
