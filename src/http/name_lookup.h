// NameLookup: the addresses of host names, without holding up the thread that asks.
//
// The system's lookup blocks, for half a minute if a name server does not answer. Each runs on a
// thread of its own, so that one name that hangs holds up no other; Asio's resolver has one thread
// for all names of an io_context.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/address.hpp>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"

namespace takt::internal::http {

using HostAddresses = std::vector<boost::asio::ip::address>;

// Blocks. kUnavailable if the name has no address, or nobody can say.
Result<HostAddresses> SystemLookup(const std::string& host);

struct NameLookupOptions {
    std::size_t threads_max = 8;  // Lookups at once; one for each name. More wait.
    std::size_t waiting_max = 10'000;
    // A name that has been looked up for this long already is refused at once.
    std::chrono::milliseconds hang_max = std::chrono::seconds(5);
    std::function<Result<HostAddresses>(const std::string& host)> find = SystemLookup;
};

class NameLookup {
  public:
    using Done = std::move_only_function<void(const Result<HostAddresses>&)>;

    explicit NameLookup(boost::asio::io_context& io, NameLookupOptions options = {});
    ~NameLookup();
    NameLookup(const NameLookup&) = delete;
    NameLookup& operator=(const NameLookup&) = delete;

    // Any thread. `done` is called on the io thread, later; not at all after Close.
    void Ask(const std::string& host, Done done);

    // Any thread. Does not wait for lookups under way: they find nobody to tell. The io_context may
    // be destroyed after it.
    void Close();

  private:
    struct State;
    const std::shared_ptr<State> state_;
};

}  // namespace takt::internal::http
