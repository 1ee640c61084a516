// Life: whether an object is still there, for callbacks that may come when it is gone.
//
//     timer_.async_wait(life_.Guard([this](const error_code& error) { … }));
//
// The object has a Life as its last member, so that it ends first. Guards are called on the
// object's own thread, where it is destroyed too; what comes from other threads goes through a Home
// (node/home.h).
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

namespace takt::internal {

// Tells on the object's thread whether a Life lasts, and whether the stage it was taken in does.
class LifeSign {
  public:
    bool holds() const {
        const auto stage = stage_.lock();
        return stage && (!staged_ || *stage == number_);
    }

  private:
    friend class Life;
    std::weak_ptr<const std::uint64_t> stage_;
    std::uint64_t number_ = 0;
    bool staged_ = false;
};

class Life {
  public:
    Life() : stage_(std::make_shared<std::uint64_t>(0)) {}
    Life(const Life&) = delete;
    Life& operator=(const Life&) = delete;

    // Holds while the object is there. From any thread that may use the object.
    LifeSign sign() const {
        LifeSign sign;
        sign.stage_ = stage_;
        return sign;
    }

    // Holds until NextStage too: a stage is a term, a session, whatever answers must not outlive.
    // On the object's thread.
    LifeSign stage_sign() const {
        LifeSign sign = this->sign();
        sign.staged_ = true;
        sign.number_ = *stage_;
        return sign;
    }
    void NextStage() { ++*stage_; }

    // `action`, if the object is still there when it is called; otherwise nothing happens.
    template <typename F>
    auto Guard(F action) const {
        return [sign = sign(), action = std::move(action)](auto&&... args) mutable {
            if (sign.holds()) action(std::forward<decltype(args)>(args)...);
        };
    }

  private:
    std::shared_ptr<std::uint64_t> stage_;
};

}  // namespace takt::internal
