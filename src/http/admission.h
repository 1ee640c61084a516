// Admission: how many connections there may be, on all loops of a server together. From any thread.
#pragma once

#include <boost/asio/ip/address.hpp>
#include <cstddef>
#include <mutex>
#include <unordered_map>

namespace takt::internal::http {

class Admission {
  public:
    struct Limits {
        std::size_t connections_max;
        std::size_t per_address_max;
        std::size_t per_loopback_max;
    };

    explicit Admission(Limits limits) : limits_(limits) {}

    // Whether there is room for one more from there. If so, Leave must follow.
    bool Enter(const boost::asio::ip::address& key) {
        const std::scoped_lock lock(mutex_);
        if (count_ >= limits_.connections_max) return false;
        std::size_t& from = per_address_[key];
        if (from >= (key.is_loopback() ? limits_.per_loopback_max : limits_.per_address_max)) {
            if (from == 0) per_address_.erase(key);
            return false;
        }
        ++from;
        ++count_;
        return true;
    }
    void Leave(const boost::asio::ip::address& key) {
        const std::scoped_lock lock(mutex_);
        --count_;
        const auto found = per_address_.find(key);
        if (--found->second == 0) per_address_.erase(found);
    }
    std::size_t count() const {
        const std::scoped_lock lock(mutex_);
        return count_;
    }

  private:
    const Limits limits_;
    mutable std::mutex mutex_;
    std::size_t count_ = 0;
    std::unordered_map<boost::asio::ip::address, std::size_t> per_address_;
};

}  // namespace takt::internal::http
