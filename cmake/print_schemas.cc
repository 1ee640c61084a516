// Writes the schemas of /openapi.json to the file that it is given. A program of the build, for the
// console's types: the console is part of takt itself, which so cannot be asked yet.
#include <cstdio>
#include <fstream>
#include <string>

#include "api/schemas.h"
#include "base/json.h"

int main(int argc, char** argv) {
    if (argc != 2) {
        std::fprintf(stderr, "usage: takt_print_schemas FILE\n");
        return 2;
    }
    std::string text;
    takt::internal::JsonWriter json(text);
    json.BeginObject().Key("components").BeginObject().Key("schemas").BeginObject();
    for (const auto& [name, schema] : takt::internal::Schemas()) json.Key(name).Raw(schema);
    json.EndObject().EndObject().EndObject();
    std::ofstream file(argv[1]);
    file << text << '\n';
    file.close();
    if (!file) std::fprintf(stderr, "cannot write %s\n", argv[1]);
    return file ? 0 : 1;
}
