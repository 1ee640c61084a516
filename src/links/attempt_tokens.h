// AttemptTokens: the tokens of attempts that HTTP services have in hand, so that a callback can be
// told from a guess before its body is taken in. Those of the last that ended too: whoever did not
// hear the answer to a callback sends it again. From any thread.
#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <set>
#include <utility>

#include "model/execution.h"

namespace takt::internal {

class AttemptTokens : public std::enable_shared_from_this<AttemptTokens> {
  public:
    explicit AttemptTokens(std::size_t ended_max = 10'000) : ended_max_(ended_max) {}

    // A token is there as long as its entry is, and until so many others have ended after it.
    class Entry {
      public:
        Entry() = default;
        Entry(std::shared_ptr<AttemptTokens> tokens, const Token& token)
            : tokens_(std::move(tokens)), token_(token) {
            const std::scoped_lock lock(tokens_->mutex_);
            tokens_->known_.insert(token_);
        }
        Entry(Entry&& other) noexcept = default;
        Entry& operator=(Entry&& other) noexcept {
            std::swap(tokens_, other.tokens_);
            std::swap(token_, other.token_);
            return *this;
        }
        ~Entry() {
            if (!tokens_) return;
            const std::scoped_lock lock(tokens_->mutex_);
            tokens_->End(token_);
        }

      private:
        std::shared_ptr<AttemptTokens> tokens_;
        Token token_{};
    };

    Entry Add(const Token& token) { return {shared_from_this(), token}; }

    bool Has(const Token& token) const {
        const std::scoped_lock lock(mutex_);
        return known_.contains(token);
    }

  private:
    void End(const Token& token) {
        ended_.push_back(token);
        if (ended_.size() <= ended_max_) return;
        known_.erase(known_.find(ended_.front()));
        ended_.pop_front();
    }

    const std::size_t ended_max_;
    mutable std::mutex mutex_;
    std::deque<Token> ended_;  // Oldest first; in `known_` too.
    // An attempt that is sent again may be here twice.
    std::multiset<Token> known_;
};

}  // namespace takt::internal
