// ServicePolicy: which URLs of services may be called.
//
// Callers who may register a service can make the scheduler call any URL. So only hosts that the
// operator named are called (`executors.allow`: names, addresses, CIDR ranges), and this machine
// while the server is reachable from this machine only. The host is judged when it registers, and
// each address it resolves to whenever it is connected to.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/url.h"
#include "http/address.h"

namespace takt::internal {

class ServicePolicy {
  public:
    // kInvalid names all entries that are neither a host name, an address nor a range.
    static Result<ServicePolicy> Make(const std::vector<std::string>& allow, bool allow_loopback);

    // The URL, if it is http or https, has no user name or password, and its host may be called as
    // far as that can be told without resolving it. kInvalid, naming `field`, otherwise.
    Result<Url> Check(std::string_view url, std::string_view field) const;

    // Whether this address of this host may be connected to. What is link-local or loopback needs
    // an entry of its own: a wide range, or a name whose owner points it there, is not enough.
    bool Allows(std::string_view host, const IpAddress& address) const;

  private:
    struct Range {
        IpAddress base;
        unsigned bits = 0;
    };

    static bool IsIn(const IpAddress& address, const Range& range);
    bool IsListed(std::string_view host) const;

    std::vector<std::string> names_;  // In lower case, sorted.
    std::vector<Range> ranges_;
    bool allow_loopback_ = false;
};

}  // namespace takt::internal
