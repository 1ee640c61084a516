// The one way to start a coroutine. asio::detached would swallow what escapes from it.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/cancellation_signal.hpp>

#include "http/log.h"

namespace takt::internal {

// Runs `task` on `executor`. An exception that escapes from it is logged under `name`, which must
// be a literal; a cancelled operation is the expected end of a task and is not. Cancellation
// emitted on `cancel` reaches whatever the task is waiting for.
void Spawn(const boost::asio::any_io_executor& executor, boost::asio::awaitable<void> task,
           const char* name, HttpLog log = {}, boost::asio::cancellation_slot cancel = {});

}  // namespace takt::internal
