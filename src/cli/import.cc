// takt import: definitions from the crontabs and jobs of other schedulers. No server is asked.
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "api/step_json.h"
#include "api/task_json.h"
#include "base/json.h"
#include "cli/cli.h"
#include "cli/given_file.h"
#include "cli/output.h"
#include "definitions/definition_file.h"
#include "definitions/import.h"
#include "definitions/yaml_text.h"

namespace takt::internal::cli {
namespace {

struct ImportOptions {
    std::string file;
    std::string folder;
    std::string type = "shell";
    std::string timezone;
    bool system = false;
};

// The zone that programs of this machine go by; empty if it cannot be told.
std::string ZoneOfMachine() {
    if (const char* zone = std::getenv("TZ"); zone && *zone) return zone;
    std::error_code error;
    const std::string path = std::filesystem::read_symlink("/etc/localtime", error).string();
    constexpr std::string_view kFolder = "zoneinfo/";
    const std::size_t at = path.find(kFolder);
    if (!error && at != std::string::npos) return path.substr(at + kFolder.size());
    std::ifstream file("/etc/timezone");
    std::string zone;
    std::getline(file, zone);
    return zone;
}

// A definition that would be refused later is refused here already.
void CheckImported(Imported& imported) {
    TextPool pool;
    std::erase_if(imported.definitions, [&](const std::string& definition) {
        const std::string task = WithoutMembers(JsonView(definition), {"kind"});
        TaskReview review;
        const auto read = ReadTask(JsonView(task), TaskLimits{}, pool, {.review = &review});
        for (const Error& mistake : review.mistakes) {
            imported.Note(0, ImportNote::Grade::kLeft,
                          "task " + TextOf(JsonView(task), "id") + ": " + mistake.detail);
        }
        return !read.has_value();
    });
}

void PrintNotes(const Imported& imported) {
    for (const ImportNote& note : imported.notes) {
        const bool taken = note.grade == ImportNote::Grade::kTaken;
        const bool partly = note.grade == ImportNote::Grade::kPartly;
        const std::string where = note.line > 0 ? "line " + std::to_string(note.line) + ": " : "";
        std::fprintf(stderr, "%s%s%s\n", where.c_str(),
                     taken    ? ""
                     : partly ? "look at this: "
                              : "not taken: ",
                     Clean(note.text, 1000).c_str());
    }
    const std::size_t count = imported.definitions.size();
    std::fprintf(stderr, "%zu %s%s\n", count, count == 1 ? "definition" : "definitions",
                 imported.complete() ? "" : "; not everything means the same here, see above");
}

Result<void> WriteDefinitions(const Imported& imported, const std::string& folder) {
    bool first = true;
    for (const std::string& definition : imported.definitions) {
        const std::string yaml = YamlText(JsonView(definition));
        if (folder.empty()) {
            std::printf("%s%s", std::exchange(first, false) ? "" : "---\n", yaml.c_str());
            continue;
        }
        std::error_code error;
        std::filesystem::create_directories(folder, error);
        const std::filesystem::path path =
            std::filesystem::path(folder) / (TextOf(JsonView(definition), "id") + ".yaml");
        std::ofstream file(path, std::ios::binary);
        file << yaml;
        file.close();
        if (!file) return Fail(ErrorCode::kInvalid, "cannot write " + path.string());
    }
    return {};
}

// As UTF-8. Editors and shells of Windows put a mark before it, or write UTF-16.
Result<std::string> ReadText(const std::string& file) {
    auto text = ReadGivenFile(file);
    if (!text) return text;
    if (text->starts_with("\xff\xfe") || text->starts_with("\xfe\xff")) {
        return Fail(ErrorCode::kInvalid, file +
                                             " is UTF-16, as PowerShell's > writes it; save it as "
                                             "UTF-8 (mysqldump: --result-file)");
    }
    if (text->starts_with("\xef\xbb\xbf")) text->erase(0, 3);
    return text;
}

using Importer = Imported (*)(const std::string& text, const ImportOptions& options);

Result<int> Import(const ImportOptions& options, Importer importer) {
    const auto text = ReadText(options.file);
    if (!text) return std::unexpected(text.error());
    Imported imported = importer(*text, options);
    CheckImported(imported);
    PrintNotes(imported);
    if (auto written = WriteDefinitions(imported, options.folder); !written) {
        return std::unexpected(written.error());
    }
    if (imported.unreadable) return kUsage;
    return imported.complete() ? kOk : kFailed;
}

Imported FromCrontab(const std::string& text, const ImportOptions& options) {
    CrontabOptions crontab{
        .system = options.system, .timezone = options.timezone, .type = options.type};
    crontab.system = crontab.system || options.file == "/etc/crontab" ||
                     options.file.starts_with("/etc/cron.d/");
    if (crontab.timezone.empty()) crontab.timezone = ZoneOfMachine();
    return ImportCrontab(text, crontab);
}

Imported FromCronJobs(const std::string& text, const ImportOptions& options) {
    return ImportCronJobs(text, {.type = options.type});
}

Imported FromXxlJob(const std::string& text, const ImportOptions& options) {
    return ImportXxlJobs(text, {.timezone = options.timezone});
}

}  // namespace

void AddImport(CLI::App& app, Context& context) {
    CLI::App* import = app.add_subcommand(
        "import", "Makes definitions from crontabs, CronJobs or XXL-JOB, for takt apply");
    import->require_subcommand(1);
    auto options = std::make_shared<ImportOptions>();
    const auto add = [&](const char* name, const char* help, const char* file, Importer importer) {
        CLI::App* part = import->add_subcommand(name, help);
        part->add_option("file", options->file, file)->required();
        part->add_option("-o,--output", options->folder,
                         "Directory for a file each [standard output]");
        part->callback([options, importer, &context] {
            const auto ended = Import(*options, importer);
            if (!ended) PrintError(ended.error());
            context.exit = ended ? *ended : ExitOf(ended.error());
        });
        return part;
    };
    CLI::App* crontab = add("crontab", "A crontab: crontab -l | takt import crontab -",
                            "File, or - for standard input", FromCrontab);
    CLI::App* cronjobs = add("cronjobs", "CronJobs of Kubernetes: kubectl get cronjobs -o yaml",
                             "File of YAML or JSON, or -", FromCronJobs);
    CLI::App* xxl = add("xxl-job", "Jobs of XXL-JOB: mysqldump xxl_job xxl_job_info xxl_job_group",
                        "Dump in SQL, or rows in JSON, or -", FromXxlJob);
    crontab->add_flag("--system", options->system,
                      "Lines have a user, as in /etc/crontab and /etc/cron.d");
    for (CLI::App* part : {crontab, xxl}) {
        part->add_option("--timezone", options->timezone,
                         part == crontab ? "Zone of the machine it is from [this machine's]"
                                         : "Zone of the admin's machine [UTC]");
    }
    for (CLI::App* part : {crontab, cronjobs}) {
        part->add_option("--type", options->type, "Which handler runs them")->capture_default_str();
    }
    import->footer(
        "What was understood and what was not is told on standard error, line by line. Exit "
        "status:\n"
        "0 all of it means the same here, 1 not all of it, 2 it could not be read.\n\n"
        "examples:\n"
        "  crontab -l | takt import crontab - > crontab.yaml\n"
        "  takt import cronjobs jobs.yaml -o definitions --type run-image\n"
        "  takt import xxl-job dump.sql --timezone Asia/Shanghai -o definitions\n");
}

}  // namespace takt::internal::cli
