// Fuzz entry for tasks as JSON: what is accepted must be written so that it reads back as the same.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "api/json_read.h"
#include "api/task_json.h"
#include "base/check.h"
#include "base/json.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    using namespace takt::internal;
    static const TaskLimits limits;
    static const Time now = *ParseTime("2026-11-15T02:00:00Z");
    static TextPool pool;
    const std::string_view text(reinterpret_cast<const char*>(bytes), size);
    const auto object = ReadObject(text, 1 << 20);
    if (!object) return 0;
    const auto task = ReadTask(*object, limits, pool, {.now = now});
    if (!task) {
        TAKT_CHECK(!task.error().detail.empty());
        return 0;
    }
    if (!task->task->recurring()) return 0;  // Written together with its execution.
    const NewTaskPtr whole(new Task(*task->task));
    if (whole->id.empty()) whole->id = TaskId("given-when-accepted");
    std::string written;
    JsonWriter json(written);
    WriteTask(json, {whole, {}});
    const auto view = ReadObject(written, written.size());
    TAKT_CHECK(view.has_value());
    const auto again = ReadTask(*view, limits, pool, {.accept_read_only = true, .now = now});
    TAKT_CHECK(again.has_value() && SameRequest(*whole, *again->task));
    return 0;
}
