// AttemptTokens: the tokens of attempts that HTTP services have in hand, so that a callback can be
// told from a guess before its body is taken in. From any thread.
#pragma once

#include <memory>
#include <mutex>
#include <set>
#include <utility>

#include "model/execution.h"

namespace takt::internal {

class AttemptTokens : public std::enable_shared_from_this<AttemptTokens> {
  public:
    // A token is there as long as its entry is.
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
            tokens_->known_.erase(tokens_->known_.find(token_));
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
    mutable std::mutex mutex_;
    // An attempt that is sent again may be here twice for a moment.
    std::multiset<Token> known_;
};

}  // namespace takt::internal
