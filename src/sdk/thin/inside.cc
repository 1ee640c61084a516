// fmt, spdlog and Boost.JSON as parts of libtakt-client: it needs three shared libraries less, and a
// program that has other versions of them does not meet ours. Debian has no archives of them that a
// shared library can be made of; their headers hold all that the layers below use.
#include <fmt/format-inl.h>
#include <spdlog/common-inl.h>
#include <spdlog/details/backtracer-inl.h>
#include <spdlog/details/file_helper-inl.h>
#include <spdlog/details/log_msg-inl.h>
#include <spdlog/details/log_msg_buffer-inl.h>
#include <spdlog/details/os-inl.h>
#include <spdlog/logger-inl.h>
#include <spdlog/pattern_formatter-inl.h>
#include <spdlog/sinks/ansicolor_sink-inl.h>
#include <spdlog/sinks/base_sink-inl.h>
#include <spdlog/sinks/rotating_file_sink-inl.h>
#include <spdlog/sinks/sink-inl.h>

#include <boost/json/src.hpp>
#include <mutex>

// Templates that fmt's headers declare and do not define.
namespace fmt::detail {

template char decimal_point_impl(locale_ref);
template thousands_sep_result<char> thousands_sep_impl(locale_ref);
template locale_ref::locale_ref(const std::locale&);
template std::locale locale_ref::get<std::locale>() const;
template dragonbox::decimal_fp<float> dragonbox::to_decimal(float) noexcept;
template dragonbox::decimal_fp<double> dragonbox::to_decimal(double) noexcept;

}  // namespace fmt::detail

namespace spdlog::sinks {

template class base_sink<std::mutex>;
template class rotating_file_sink<std::mutex>;
template class ansicolor_sink<details::console_mutex>;
template class ansicolor_stderr_sink<details::console_mutex>;

}  // namespace spdlog::sinks
