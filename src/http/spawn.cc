#include "http/spawn.h"

#include <fmt/format.h>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/error.hpp>
#include <boost/system/system_error.hpp>

namespace takt::internal {
namespace {

void Escaped(const HttpLog& log, const char* name, const char* what) {
    LogHttp(log, HttpLogLevel::kError, fmt::format("{} ended by an exception: {}", name, what));
}

}  // namespace

void Spawn(const boost::asio::any_io_executor& executor, boost::asio::awaitable<void> task,
           const char* name, HttpLog log, boost::asio::cancellation_slot cancel) {
    auto finished = [name, log = std::move(log)](const std::exception_ptr& escaped) {
        if (!escaped) return;
        try {
            std::rethrow_exception(escaped);
        } catch (const boost::system::system_error& error) {
            if (error.code() == boost::asio::error::operation_aborted) return;
            Escaped(log, name, error.what());
        } catch (const std::exception& error) {
            Escaped(log, name, error.what());
        } catch (...) {
            Escaped(log, name, "an exception of unknown type");
        }
    };
    boost::asio::co_spawn(executor, std::move(task),
                          boost::asio::bind_cancellation_slot(cancel, std::move(finished)));
}

}  // namespace takt::internal
