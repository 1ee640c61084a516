// TrustedClock: the wall clock as far as the steady clock confirms it.
//
// A wall clock may be set, by NTP or by hand, to a wrong time for a moment. What cannot be undone
// (purging, expiry, handing out serials) follows the trusted time: a clock that was set ahead is
// believed only after it has stayed there for an hour, one that was set back at once.
#pragma once

#include <algorithm>
#include <chrono>
#include <optional>
#include <string_view>

#include "base/time.h"
#include "engine/draft.h"

namespace takt::internal {

class TrustedClock {
  public:
    // The settings that are its own.
    static constexpr std::string_view kRecordKey = "clock.record";
    static constexpr std::string_view kSettledKey = "clock.settled";

    // Less than this is drift, which NTP may mend in one step; more is a clock that was set.
    static constexpr Duration kParted = std::chrono::minutes(1);
    // How long a clock that was set ahead must stay there to be believed.
    static constexpr Duration kConfirmed = std::chrono::hours(1);
    // How far a new leader's clock may be beyond the last record of the one before and still be
    // believed at once: nobody knows whether it is ahead or nobody led.
    static constexpr Duration kAbsence = std::chrono::hours(24);
    // For how long a new leader does not decide what only the time since the last record brought
    // about: a machine that was just started may be about to have its clock set.
    static constexpr Duration kDoubted = std::chrono::minutes(1);

    // Before a term begins: the record that one before doubted its clock by, and the settled time that
    // it had come to, as Tell wrote them.
    void Restore(std::string_view value);
    void RestoreSettled(std::string_view value);

    // A term begins. `recorded` is a time that an earlier leader wrote down; Time{} if there is
    // none.
    void Begin(Instant now, Time recorded);

    // Tells the next leader by which record this one doubts its clock, before the serials that it
    // gives by that clock stand for a record themselves; and that it does not any more. The settled
    // time too, to a minute, while serials are ahead of it.
    void Tell(Draft& draft);
    // When it has something to tell though nothing happens.
    std::optional<Steady> tell_at() const;

    // Takes a reading; by how much the wall clock was set since the one before: 0 if it was not,
    // or by less than kParted. REQUIRES: Begin was called; `now.steady` never goes back.
    Duration Observe(Instant now);

    // The trusted time at the last reading; never after its wall time.
    Time trusted() const { return trusted_; }
    // The same for what cannot be undone at all: in its first hour a term goes by the last record and
    // the steady clock, since it may have begun in the very moment in which the clock was ahead. A
    // leader whose clock was behind its last record wrote by it: the next one goes on from there.
    Time settled() const { return std::min(trusted_, settled_); }
    // The time up to which what is past may be taken for past: the trusted one, unless the term has
    // just begun, long after the last record.
    Time undoubted() const { return DoubtOf(trusted_) > Duration(0) ? recorded() : trusted_; }
    // By how much the wall clock, or the trusted time, moved against the steady clock with the last
    // reading; 0 if by no more than a clock is slewed.
    Duration moved() const { return moved_; }
    Duration trusted_moved() const { return trusted_moved_; }
    // Whether the wall clock went back by a noticeable time with the last reading, or would with
    // this one.
    bool set_back() const { return moved_ < Duration(0); }
    bool IsSetBack(Instant now) const;
    // Whether the trusted time and the wall clock moved against each other, or against the steady
    // clock, with the last reading: what was reckoned by one of them is to be reckoned anew.
    bool parted() const { return parted_; }
    // Whether a time that the wall clock gave was given by a clock that is ahead and not believed yet.
    bool GivenAhead(Time at) const { return is_ahead_ && at >= ahead_from_; }
    // How long to wait before a past `at` is taken for past; 0 unless the term has just begun, and
    // long after its last record, by which `at` has not come.
    Duration DoubtOf(Time at) const;
    // For how long the term has lasted at the last reading.
    Duration age() const { return age_; }

    // The last time the clock was set, and by how much; nothing if that is longer than kConfirmed
    // ago.
    std::optional<Duration> last_jump(Steady now) const;

  private:
    // Wall minus steady time: moves only when one of the clocks is set.
    using Offset = SteadyClock::duration;
    static Offset OffsetOf(Instant now) {
        return now.wall.time_since_epoch() - now.steady.time_since_epoch();
    }
    void Judge(Instant now);
    // The last record, and the steady clock since.
    Time recorded() const { return std::min(trusted_, recorded_); }
    void TellSettled(Draft& draft);

    Offset last_{};
    Offset believed_{};
    Offset ahead_{};        // What the wall clock claims, if that is not believed yet …
    Steady ahead_since_{};  // … since then.
    Time ahead_from_{};     // The earliest that it claimed since it is not believed.
    bool is_ahead_ = false;
    bool parted_ = false;
    Duration moved_{0};
    Duration trusted_moved_{0};
    Time trusted_{};
    Time recorded_{};
    Time settled_{};
    Instant begun_{};  // When the term did, by the last record; Time{} if there is none.
    Duration age_{0};  // Of the term.
    Time kept_{};      // The record that is stored for the next leader; Time{} if there is none.
    Time
        settled_at_begin_{};  // The settled time when the term began; Time{} if there was no record.
    Time settled_kept_{};     // That is stored for the next leader; Time{} if serials tell enough.
    Duration jump_{0};
    Steady jumped_at_{};
};

}  // namespace takt::internal
