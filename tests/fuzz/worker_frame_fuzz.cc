// Any bytes of a stranger's as a worker's frame: read, checked and turned into inputs, or refused.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "links/frame_inputs.h"
#include "links/hello.h"
#include "wire/frame_codec.h"
#include "worker.pb.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) return 0;
    const auto form =
        data[0] % 2 == 0 ? takt::internal::FrameForm::kBinary : takt::internal::FrameForm::kJson;
    const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
    takt::worker::v1::WorkerFrame frame;
    if (!takt::internal::ReadFrame(form, bytes, frame)) return 0;
    const auto attach = takt::internal::ReadHello(frame.hello(), 1, "127.0.0.1");
    if (attach) {
        TAKT_CHECK(takt::internal::IsValidId(attach->worker.id.view()));
        TAKT_CHECK(attach->worker.capacity >= 1 &&
                   attach->worker.capacity <= takt::internal::kCapacityMax);
    } else {
        TAKT_CHECK(!attach.error().code.empty() && !attach.error().message.empty());
    }
    // Of three attempts a worker may hold one, has been told to stop another, and made up the third.
    const takt::internal::FrameSource source{
        .session = 1, .holding = [](const takt::internal::Token& token) {
            return static_cast<takt::internal::Holding>(token[0] % 3);
        }};
    takt::internal::FrameInputs inputs;
    const auto read =
        takt::internal::ReadInputs(frame, source, {.result_bytes_max = 1 << 16}, inputs);
    TAKT_CHECK(read || !read.error().message.empty());
    return 0;
}
