// Descriptors: how many files and sockets the process may have, and how many of them are left to
// those who connect. Strangers' idle connections must not take those that the scheduler needs to
// call executors, other schedulers and its store.
#pragma once

#include <cstddef>

namespace takt::internal {

// Raises the soft limit to the hard one: the usual 1,024 is for programs that use select. For
// whoever owns the process, at its start.
void RaiseDescriptorLimit();

// The soft limit as it is.
std::size_t DescriptorLimit();

// How many connections may be accepted when so many are wanted and there are `limit` descriptors.
std::size_t ConnectionsWithin(std::size_t limit, std::size_t wanted);

}  // namespace takt::internal
