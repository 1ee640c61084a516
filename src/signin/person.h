// Person: somebody whom an OpenID provider vouches for.
#pragma once

#include <string>
#include <vector>

namespace takt::internal {

struct Person {
    std::string subject;  // The provider's own name for them; never another's.
    std::string name;     // As people say it: an address, mostly.
    std::vector<std::string> groups;
};

}  // namespace takt::internal
