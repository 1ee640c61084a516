// Home: the thread that an object lives on. Brings answers back to it, if the object is still there
// and, where asked for, if the term is still the same.
//
//     store_.Resign(term, {}, home_.term().Here([this](Result<void> result) { … }));
//
// Whatever is given to a store, a client or another thread is made by a Home: what runs elsewhere
// then touches nothing but the runtime, which outlives everybody. The object has its Home as its
// last member, so that it ends first, and is destroyed on its thread.
#pragma once

#include <tuple>
#include <utility>

#include "base/flow.h"
#include "base/life.h"
#include "node/runtime.h"

namespace takt::internal {

// While something lasts: the object, or a term of it. Cheap to copy; a flow may keep one.
class Stay {
  public:
    Stay(Runtime& runtime, LifeSign sign) : runtime_(&runtime), sign_(std::move(sign)) {}

    // On the home thread.
    bool holds() const { return sign_.holds(); }

    // A callback for any thread: runs `then` with its arguments on the home thread, in a turn of
    // its own, if this stay holds by then. Otherwise `then` is dropped there.
    template <typename F>
    auto Here(F then) const {
        return [stay = *this, then = std::move(then)](auto... args) mutable {
            stay.runtime_->Post(Bound(stay, std::move(then), std::move(args)...));
        };
    }

    // As Here, but at once if it is called on the home thread.
    template <typename F>
    auto Back(F then) const {
        return [stay = *this, then = std::move(then)](auto... args) mutable {
            stay.runtime_->Dispatch(Bound(stay, std::move(then), std::move(args)...));
        };
    }

    // A callback for the home thread: runs `then` at once, if this stay holds.
    template <typename F>
    auto Guard(F then) const {
        return [sign = sign_, then = std::move(then)](auto&&... args) mutable {
            if (sign.holds()) then(std::forward<decltype(args)>(args)...);
        };
    }

    // Runs `action` on the home thread, soon or after a while, if this stay holds by then. Post
    // from any thread.
    template <typename F>
    void Post(F action) const {
        runtime_->Post(Bound(*this, std::move(action)));
    }
    template <typename F>
    std::uint64_t After(Duration delay, F action) const {
        return runtime_->After(delay, Bound(*this, std::move(action)));
    }

    // For flows, on the home thread: co_await stay.Wait<V>(start) gives `start` a callback that
    // takes a V, for any thread, and waits for it. A flow whose stay is over does not go on.
    template <typename V, typename Start>
    auto Wait(Start start) const {
        return internal::Wait<V>([stay = *this, start = std::move(start)](auto done) mutable {
            start(stay.Back(std::move(done)));
        });
    }
    auto Sleep(Duration delay) const {
        return internal::Wait<std::tuple<>>([stay = *this, delay](auto done) {
            stay.After(delay, [done = std::move(done)]() mutable { done({}); });
        });
    }

  private:
    template <typename F, typename... Args>
    static auto Bound(const Stay& stay, F then, Args... args) {
        return [sign = stay.sign_, then = std::move(then), ... args = std::move(args)]() mutable {
            if (sign.holds()) then(std::move(args)...);
        };
    }

    Runtime* runtime_;
    LifeSign sign_;
};

class Home {
  public:
    explicit Home(Runtime& runtime) : runtime_(runtime) {}

    Runtime& runtime() const { return runtime_; }

    // While the object is there.
    Stay stay() const { return {runtime_, life_.sign()}; }
    // Until the next NextTerm, too. Both on the home thread.
    Stay term() const { return {runtime_, life_.stage_sign()}; }
    void NextTerm() { life_.NextStage(); }

    // The same as those of stay().
    template <typename F>
    auto Here(F then) const {
        return stay().Here(std::move(then));
    }
    template <typename F>
    auto Back(F then) const {
        return stay().Back(std::move(then));
    }
    template <typename F>
    auto Guard(F then) const {
        return stay().Guard(std::move(then));
    }
    template <typename F>
    void Post(F action) const {
        stay().Post(std::move(action));
    }
    template <typename F>
    std::uint64_t After(Duration delay, F action) const {
        return stay().After(delay, std::move(action));
    }
    void Cancel(std::uint64_t timer) const { runtime_.Cancel(timer); }
    template <typename V, typename Start>
    auto Wait(Start start) const {
        return stay().template Wait<V>(std::move(start));
    }
    auto Sleep(Duration delay) const { return stay().Sleep(delay); }

  private:
    Runtime& runtime_;
    Life life_;
};

}  // namespace takt::internal
