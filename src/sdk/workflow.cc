#include "takt/workflow.h"

#include "base/json.h"

namespace takt {
namespace {

std::string Value(std::string_view kind, std::string_view of, std::string_view pointer) {
    std::string text;
    internal::JsonWriter json(text);
    json.BeginObject().Field(kind, of);
    if (!pointer.empty()) json.Field("pointer", pointer);
    json.EndObject();
    return text;
}

}  // namespace

std::string From(std::string_view step, std::string_view pointer) {
    return Value("$from", step, pointer);
}
std::string Input(std::string_view pointer) {
    return Value("$input", pointer, {});
}
std::string Item(std::string_view pointer) {
    return Value("$item", pointer, {});
}

}  // namespace takt
