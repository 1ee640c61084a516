// Live: an execution that is not finished, as the engine holds it. A million of them may wait, so
// every byte here is weighed (docs/decisions/0002-engine-memory.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "base/check.h"
#include "engine/draft.h"
#include "engine/timer_heap.h"
#include "model/change.h"
#include "model/execution.h"

namespace takt::internal {

struct Lane;
struct Recurring;
struct Run;
struct Slot;

// Where an execution stands that could start as far as its time goes.
enum class Waits : std::uint8_t {
    kNothing,  // Its time has not come, or it is at work.
    kTurn,     // In the line of its task's turns.
    kLimit,    // In a line of its named limit: for a permit, a worker, or both.
    kWorker,   // In its lane.
    kLock,     // In the lines of its locks; see engine/locks.h.
    kPinned,   // In the list of the one worker that may run it.
};

// Bounds of the two numbers that a child has in one word.
constexpr std::uint32_t kChildPlaces = 1u << 20;
constexpr std::uint32_t kStepPlaces = 1u << 12;

// Waits in the timer heap for its time (pending, retrying: by the wall clock) or for its end
// (scheduled, running: by the steady clock).
struct Live : Timer {
    std::uint32_t run = 0;  // Where it is among its task's runs. Here, where it takes no room.
    Execution row;
    Lane* lane = nullptr;            // Never null once it is in the engine.
    Slot* slot = nullptr;            // The worker that has it, while scheduled or running.
    Recurring* recurring = nullptr;  // The task it is a run of; null for one-off tasks.
    // If its task has steps, its own, which goes with it; else the run it is a child of, if any.
    Run* flow = nullptr;
    Live* next = nullptr;  // In its lane, or in its worker's hand.
    Live* previous = nullptr;
    ChangeMark mark;
    std::uint32_t child : 20 = 0;  // Where it is among the children of its run, …
    std::uint32_t step : 12 = 0;   // … and of which step it is one.
    Place place = Place::kNone;
    Waits waits = Waits::kNothing;
    bool listed : 1 = false;      // In a list: of those above, or a hand.
    bool has_turn : 1 = false;    // Until it is finished.
    bool has_permit : 1 = false;  // Of its named limit, until its attempt is over.
    // Needs no turn whatever the mode says. Not stored: after a takeover one that has not
    // begun waits for its turn like the others.
    bool forced : 1 = false;
    bool finished : 1 = false;    // Its end is decided; freed at the end of the step.
    bool has_locks : 1 = false;   // Has, waits for, or is kept something by Locks.
    bool watched : 1 = false;     // For a circle: see engine_circles.cc.
    bool doubtful : 1 = false;    // In the hand of a worker that may not have it any more.
    bool spared : 1 = false;      // Doubtful, and its worker's loss is another's: see Trials.
    bool open : 1 = false;        // Spared, and nobody knows whose it is.
    bool timed_here : 1 = false;  // It was in this term that it was given the time it waits for.
    bool unbegun : 1 = false;     // A fire of which nothing has begun: see Awaited.
    // `flow` is its own. Said here, not by the run: a child may be freed after its run.
    bool is_run : 1 = false;

    Live() = default;
    Live(const Live&) = delete;
    Live& operator=(const Live&) = delete;
    ~Live();
};
static_assert(sizeof(Live) <= 240);

// Whether it has had a worker, or as a run has begun a step, since it was made or last run again.
bool Begun(const Execution& row);
// Whether a restored execution that waits may wait for a time. One that was to run at once, one
// that a worker gave back, or one that is run again is ready whatever the clock says.
bool NeedsClock(const Execution& row);

// A list through `next` and `previous`; an execution is in one at a time.
class LiveList {
  public:
    bool empty() const { return !head_; }
    std::size_t size() const { return size_; }
    Live* front() const { return head_; }

    void PushBack(Live& live) {
        TAKT_CHECK(!live.listed);
        live.previous = tail_;
        live.next = nullptr;
        (tail_ ? tail_->next : head_) = &live;
        tail_ = &live;
        live.listed = true;
        ++size_;
    }

    // One that was in the list before goes back to its place by age. It is looked for from the
    // front: whoever comes back was at the front when it left.
    void PutBack(Live& live) {
        const auto age = [](const Live& one) {
            return std::pair(one.row.ready_at, one.row.serial);
        };
        Live* after = head_;
        while (after && age(*after) < age(live)) after = after->next;
        if (!after) return PushBack(live);
        TAKT_CHECK(!live.listed);
        live.next = after;
        live.previous = after->previous;
        (after->previous ? after->previous->next : head_) = &live;
        after->previous = &live;
        live.listed = true;
        ++size_;
    }

    void Remove(Live& live) {
        TAKT_CHECK(live.listed);
        (live.previous ? live.previous->next : head_) = live.next;
        (live.next ? live.next->previous : tail_) = live.previous;
        live.next = live.previous = nullptr;
        live.listed = false;
        --size_;
    }

  private:
    Live* head_ = nullptr;
    Live* tail_ = nullptr;
    std::size_t size_ = 0;
};

}  // namespace takt::internal
