#include "definitions/import.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "definitions/json_text.h"

namespace takt::internal {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using Grade = ImportNote::Grade;

// "3 taken: …"
std::vector<std::string> Notes(const Imported& imported) {
    std::vector<std::string> told;
    for (const ImportNote& note : imported.notes) {
        const char* grade = note.grade == Grade::kTaken    ? " taken: "
                            : note.grade == Grade::kPartly ? " partly: "
                                                           : " left: ";
        told.push_back(std::to_string(note.line) + grade + note.text);
    }
    return told;
}

std::string Field(const std::string& definition, std::string_view name) {
    const auto found = MemberOf(JsonView(definition), name);
    return found ? NormalJson(*found) : "(absent)";
}

// --- crontab ------------------------------------------------------------------------------------

TEST(ImportCrontabTest, AnEntryIsATaskThatRunsAsCronWouldRunIt) {
    const Imported imported =
        ImportCrontab("# comment\n\n0 2 * * mon-fri /usr/local/bin/backup.sh --all >/dev/null\n",
                      {.timezone = "Europe/Berlin"});
    ASSERT_EQ(imported.definitions.size(), 1u);
    EXPECT_EQ(NormalJson(JsonView(imported.definitions[0])),
              R"({"cron_expression":"0 2 * * mon-fri","execution_mode":"parallel","id":"backup",)"
              R"("kind":"task","max_retry":0,"misfire_policy":"skip","name":"backup",)"
              R"("parameters":{"command":"/usr/local/bin/backup.sh --all >/dev/null"},)"
              R"("timeout":"24h","timezone":"Europe/Berlin","type":"shell"})");
    EXPECT_TRUE(imported.complete());
    EXPECT_EQ(imported.notes[0].line, 3);
}

TEST(ImportCrontabTest, VariablesHoldForWhatFollowsThem) {
    const Imported imported = ImportCrontab(
        "@daily one\nPATH=/bin:/usr/bin\nNAME = \"it's me\"\nCRON_TZ=Asia/Tokyo\nSHELL=/bin/bash\n"
        "RANDOM_DELAY=10\n@hourly two\n",
        {});
    ASSERT_EQ(imported.definitions.size(), 2u);
    EXPECT_EQ(Field(imported.definitions[0], "parameters"), R"({"command":"one"})");
    EXPECT_EQ(Field(imported.definitions[0], "timezone"), "(absent)");
    EXPECT_EQ(Field(imported.definitions[1], "parameters"),
              R"({"argv":["/bin/bash","-c","export PATH='/bin:/usr/bin'\nexport )"
              R"(NAME='it'\\''s me'\ntwo"]})");
    EXPECT_EQ(Field(imported.definitions[1], "timezone"), R"("Asia/Tokyo")");
    EXPECT_EQ(Field(imported.definitions[1], "jitter"), R"("10m")");
}

TEST(ImportCrontabTest, PercentSignsAreInputUnlessEscaped) {
    const Imported imported = ImportCrontab(
        "0 0 * * * mail -s \"now \\%H\" me%Dear me,%it's late%\n5 0 * * * date +\\%F\n", {});
    ASSERT_EQ(imported.definitions.size(), 2u);
    EXPECT_EQ(Field(imported.definitions[0], "parameters"),
              R"({"command":"printf '%s\\n' 'Dear me,\nit'\\''s late\n' | {\nmail -s \"now %H\" me)"
              R"(\n}"})");
    EXPECT_EQ(Field(imported.definitions[1], "parameters"), R"({"command":"date +%F"})");
}

TEST(ImportCrontabTest, TheSystemsHaveAUser) {
    const Imported imported = ImportCrontab(
        "17 *\t* * *\troot    cd / && run-parts --report /etc/cron.hourly\n", {.system = true});
    ASSERT_EQ(imported.definitions.size(), 1u);
    EXPECT_EQ(Field(imported.definitions[0], "id"), R"("run-parts")");
    EXPECT_EQ(Field(imported.definitions[0], "labels"), R"({"user":"root"})");
    EXPECT_THAT(Notes(imported), ElementsAre(HasSubstr("--labels user=root")))
        << "a flag of takt worker";
}

TEST(ImportCrontabTest, WhatIsNotUnderstoodIsToldByItsLine) {
    const Imported imported = ImportCrontab(
        "MAILTO=ops@example.org\n@reboot start\n61 * * * * x\n0 0 */2 * 1 y\n* * * * *\n"
        "0 0 * * * z\n",
        {});
    EXPECT_FALSE(imported.complete());
    EXPECT_EQ(imported.definitions.size(), 2u);
    EXPECT_THAT(Notes(imported),
                ElementsAre(HasSubstr("1 partly: MAILTO"), HasSubstr("2 left: @reboot"),
                            HasSubstr("3 left: 61 * * * *: column 1 (minute)"),
                            HasSubstr("4 partly: task y"), "5 left: there is no command",
                            HasSubstr("6 taken: task z")));
}

TEST(ImportCrontabTest, IdsAreUniqueAndValid) {
    const Imported imported = ImportCrontab(
        "0 0 * * * /opt/a.sh\n0 1 * * * /opt/a.sh\n0 2 * * * ./备份\n0 3 * * * FOO=1 nice -n 5 b\n"
        "0 4 * * * flock -n /run/x.lock timeout 60 /opt/c.py\n",
        {});
    std::vector<std::string> ids;
    for (const std::string& one : imported.definitions) ids.push_back(Field(one, "id"));
    EXPECT_THAT(ids, ElementsAre(R"("a")", R"("a-2")", R"("task")", R"("b")", R"("c")"));
}

// --- CronJobs -----------------------------------------------------------------------------------

constexpr const char* kCronJob = R"(apiVersion: batch/v1
kind: CronJob
metadata:
  name: nightly
spec:
  schedule: "0 2 * * *"
  timeZone: Asia/Shanghai
  concurrencyPolicy: Forbid
  suspend: true
  startingDeadlineSeconds: 300
  jobTemplate:
    spec:
      backoffLimit: 2
      activeDeadlineSeconds: 600
      template:
        spec:
          containers:
            - name: main
              image: registry/app:1
              command: ["/app/run", "--all"]
              args: [now]
              env:
                - {name: MODE, value: full}
                - {name: KEY, valueFrom: {secretKeyRef: {name: s, key: k}}}
---
apiVersion: v1
kind: Service
metadata: {name: web}
)";

TEST(ImportCronJobsTest, ACronJobIsATask) {
    const Imported imported = ImportCronJobs(kCronJob, {});
    ASSERT_EQ(imported.definitions.size(), 1u);
    EXPECT_EQ(NormalJson(JsonView(imported.definitions[0])),
              R"({"cron_expression":"0 2 * * *","enabled":false,"execution_mode":"skip",)"
              R"("id":"nightly","kind":"task","misfire_policy":"fire_once","name":"nightly",)"
              R"("parameters":{"argv":["env","MODE=full","/app/run","--all","now"]},)"
              R"("retry_policy":{"backoff_rate":2,"delay":"10s","delay_max":"6m","max_retries":2},)"
              R"("start_deadline":"300s","timeout":"600s","timezone":"Asia/Shanghai",)"
              R"("type":"shell"})");
    EXPECT_THAT(
        Notes(imported),
        ElementsAre(HasSubstr("4 taken: task nightly"), HasSubstr("11 partly: env KEY"),
                    HasSubstr("11 partly: image"), HasSubstr("14 partly: activeDeadlineSeconds"),
                    HasSubstr("Service is passed over")));
}

// $(NAME) is the kubelet's, before any shell: a shell would run a program of that name.
TEST(ImportCronJobsTest, VariablesInACommandAreReplaced) {
    const Imported imported = ImportCronJobs(R"(kind: CronJob
metadata: {name: dump, namespace: shop}
spec:
  schedule: "@daily"
  jobTemplate:
    spec:
      template:
        spec:
          containers:
            - command: [sh, -c, "dump $(DB) -p $(PASSWORD) > $(date +%F) $$(HOME) $x"]
              env: [{name: DB, value: shop}, {name: PASSWORD, valueFrom: {}}]
)",
                                             {});
    ASSERT_EQ(imported.definitions.size(), 1u);
    EXPECT_EQ(Field(imported.definitions[0], "parameters"),
              R"({"argv":["env","DB=shop","sh","-c",)"
              R"("dump shop -p $(PASSWORD) > $(date +%F) $(HOME) $x"]})");
    EXPECT_THAT(Notes(imported), Contains(HasSubstr("$(PASSWORD) in the command stays")));
    EXPECT_THAT(Notes(imported), Contains(HasSubstr("2 taken: task dump of namespace shop")));
}

// The kubelet fills values in as it does commands, from those that stand before; of a name that comes
// again the last counts, in the place of the first.
TEST(ImportCronJobsTest, VariablesAreOfThoseBeforeThem) {
    const Imported imported = ImportCronJobs(R"(kind: CronJob
metadata: {name: dump}
spec:
  schedule: "@daily"
  jobTemplate:
    spec:
      template:
        spec:
          containers:
            - command: [dump, $(URL)]
              env:
                - {name: HOST, value: old}
                - {name: DB, value: shop}
                - {name: HOST, value: new.$(HOST)}
                - {name: URL, value: "$(HOST)/$(DB)?$(LATER)&$$(DB)&x"}
                - {name: LATER, value: x}
                - {name: KEY, value: y}
                - {name: KEY, valueFrom: {}}
)",
                                             {});
    ASSERT_EQ(imported.definitions.size(), 1u);
    EXPECT_EQ(Field(imported.definitions[0], "parameters"),
              R"({"argv":["env","HOST=new.old","DB=shop",)"
              R"("URL=new.old/shop?$(LATER)&$(DB)&x","LATER=x",)"
              R"("dump","new.old/shop?$(LATER)&$(DB)&x"]})");
    EXPECT_THAT(Notes(imported), Contains(HasSubstr("$(LATER) in an env value stays")));
}

// As `kubectl get -o yaml` shows it: what people wrote is told of, what the cluster filled in is not.
TEST(ImportCronJobsTest, WhatIsNotTakenIsToldByItsLine) {
    const Imported imported = ImportCronJobs(R"(kind: CronJob
metadata: {name: dump}
spec:
  schedule: "@daily"
  jobTemplate:
    spec:
      ttlSecondsAfterFinished: 60
      template:
        spec:
          dnsPolicy: ClusterFirst
          securityContext: {}
          imagePullSecrets: [{name: r}]
          containers:
            - command: [dump]
              imagePullPolicy: Always
              workingDir: /srv
              envFrom: [{configMapRef: {name: common}}]
)",
                                             {});
    EXPECT_THAT(Notes(imported),
                ElementsAre(HasSubstr("2 taken"), HasSubstr("5 partly: image"),
                            HasSubstr("7 partly: ttlSecondsAfterFinished"),
                            HasSubstr("12 partly: imagePullSecrets"),
                            HasSubstr("16 partly: workingDir"), HasSubstr("17 partly: envFrom")));
}

TEST(ImportCronJobsTest, WhatIsNoYamlCouldNotBeRead) {
    EXPECT_TRUE(ImportCronJobs("a: [b\n", {}).unreadable);
    EXPECT_FALSE(ImportCronJobs("kind: Service\n", {}).unreadable);
}

TEST(ImportCronJobsTest, AListHasManyAndATypeOfOnesOwnNeedsNoCommand) {
    const std::string text = R"({"kind": "List", "items": [
        {"kind": "CronJob", "metadata": {"name": "a"}, "spec": {"schedule": "@daily",
         "jobTemplate": {"spec": {"template": {"spec": {"containers": [{"image": "x"}]}}}}}},
        {"kind": "CronJob", "metadata": {"name": "b"}, "spec": {"schedule": "@never"}}]})";
    const Imported shell = ImportCronJobs(text, {});
    EXPECT_THAT(shell.definitions, IsEmpty());
    const Imported own = ImportCronJobs(text, {.type = "run-image"});
    ASSERT_EQ(own.definitions.size(), 1u);
    EXPECT_EQ(Field(own.definitions[0], "parameters"), R"({"env":{},"image":"x"})");
    EXPECT_FALSE(own.complete());
}

// --- XXL-JOB ------------------------------------------------------------------------------------

constexpr const char* kDump = R"(-- MySQL dump
/*!40101 SET NAMES utf8 */;
CREATE TABLE `xxl_job_group` (
  `id` int(11) NOT NULL AUTO_INCREMENT,
  `app_name` varchar(64) NOT NULL COMMENT 'name; of (all)',
  PRIMARY KEY (`id`)
) ENGINE=InnoDB;
INSERT INTO `xxl_job_group` VALUES (1,'orders');
INSERT INTO `xxl_job_log` VALUES (1,'INSERT INTO `xxl_job_info` VALUES (9);');
INSERT INTO `xxl_job_info` (`id`,`job_group`,`job_desc`,`author`,`alarm_email`,`schedule_type`,
 `schedule_conf`,`misfire_strategy`,`executor_route_strategy`,`executor_handler`,`executor_param`,
 `executor_block_strategy`,`executor_timeout`,`executor_fail_retry_count`,`glue_type`,`glue_source`,
 `child_jobid`,`trigger_status`) VALUES
 (1,1,'sync orders','XXL','','CRON','0 0/5 22-2 ? * 2-6','FIRE_ONCE_NOW','ROUND','syncOrders',
  '{\"a\": \'b\'}','DISCARD_LATER',60,3,'BEAN','','2,7',1),
 (2,1,'after','XXL','',  'NONE','','DO_NOTHING','FIRST','afterSync',NULL,'SERIAL_EXECUTION',0,0,'BEAN',NULL,'',0),
 (3,1,'script','', 'ops@example.org','FIX_RATE','30','DO_NOTHING','SHARDING_BROADCAST','','p','COVER_EARLY',0,0,
  'GLUE_SHELL','#!/bin/bash\necho $1','',0),
 (4,1,'java','','','CRON','0 0 0 * * ?','DO_NOTHING','LAST','','','SERIAL_EXECUTION',0,0,'GLUE_GROOVY','','',1),
 (5,1,'by hand','','','NONE','','DO_NOTHING','FIRST','manual','','SERIAL_EXECUTION',0,0,'BEAN','','',0);
)";

TEST(ImportXxlJobTest, JobsOfADumpAreTasksAndChildrenAreSteps) {
    const Imported imported = ImportXxlJobs(kDump, {.timezone = "Asia/Shanghai"});
    ASSERT_EQ(imported.definitions.size(), 2u);
    EXPECT_EQ(
        NormalJson(JsonView(imported.definitions[0])),
        R"({"cron_expression":"0 0/5 22-23,0-2 ? * MON-FRI","execution_mode":"skip","id":"job-1",)"
        R"("kind":"workflow","metadata":{"author":"XXL"},"misfire_policy":"fire_once",)"
        R"("name":"sync orders","steps":[{"executor":"orders","load_balance_strategy":"round_robin",)"
        R"("max_retry":3,"name":"job-1","parameters":"{\"a\": 'b'}","timeout":"60s",)"
        R"("type":"syncOrders"},{"after":["job-1"],"executor":"orders",)"
        R"("load_balance_strategy":"sticky","max_retry":0,"name":"job-2","timeout":"24h",)"
        R"("type":"afterSync"}],"timezone":"Asia/Shanghai"})");
    EXPECT_EQ(NormalJson(JsonView(imported.definitions[1])),
              R"({"each_worker":true,"enabled":false,"execution_mode":"replace",)"
              R"("executor":"orders","id":"job-3","interval":"30s","kind":"task","max_retry":0,)"
              R"("misfire_policy":"skip","name":"script","parameters":{"argv":["/bin/bash","-c",)"
              R"("#!/bin/bash\necho $1","glue.sh","p","0","1"]},"timeout":"24h","type":"shell"})");
    EXPECT_THAT(Notes(imported),
                ElementsAre(HasSubstr("14 partly: job 1 (sync orders): its child, job 7"),
                            HasSubstr("14 taken: job 1 (sync orders): workflow job-1"),
                            HasSubstr("16 taken: job 2 (after): a step of"),
                            HasSubstr("17 taken: job 3 (script): task job-3, interval 30s"),
                            HasSubstr("17 partly: job 3 (script): no mail"),
                            HasSubstr("19 left: job 4 (java): GLUE_GROOVY"),
                            HasSubstr("20 left: job 5 (by hand): it has no schedule")));
}

TEST(ImportXxlJobTest, RowsInJsonWillDo) {
    const Imported imported = ImportXxlJobs(
        R"({"data": [{"id": 8, "jobDesc": "x", "scheduleType": "CRON",
            "scheduleConf": "0 0 3 ? * L", "executorHandler": "h", "triggerStatus": 1}]})",
        {});
    ASSERT_EQ(imported.definitions.size(), 1u);
    EXPECT_EQ(Field(imported.definitions[0], "cron_expression"), R"("0 0 3 ? * 6")");
    EXPECT_EQ(Field(imported.definitions[0], "enabled"), "(absent)");
    EXPECT_THAT(Notes(imported), Contains(HasSubstr("partly: cron expressions are taken as UTC")));
    EXPECT_FALSE(ImportXxlJobs("SELECT 1;", {}).complete());
}

// GET /jobinfo/pageList of version 3, and what phpMyAdmin exports.
TEST(ImportXxlJobTest, RowsInJsonAreFoundInWhatIsWrappedAroundThem) {
    const Imported page =
        ImportXxlJobs(R"({"code": 200, "msg": null, "data": {"offset": 0, "total": 1,
        "data": [{"id": 8, "jobGroup": 2, "jobDesc": "x", "scheduleType": "FIX_RATE",
            "scheduleConf": "30", "executorHandler": "h", "triggerStatus": 1}]}})",
                      {});
    ASSERT_EQ(page.definitions.size(), 1u);
    EXPECT_EQ(Field(page.definitions[0], "interval"), R"("30s")");
    EXPECT_THAT(Notes(page), ElementsAre(HasSubstr("2 taken: job 8"),
                                         HasSubstr("2 partly: job 8 (x): its executor, group 2")));
    const Imported dump = ImportXxlJobs(R"([{"type": "header", "comment": "Export"},
        {"type": "table", "name": "xxl_job_group", "data": [{"id": "2", "app_name": "orders"}]},
        {"type": "table", "name": "xxl_job_info", "data": [{"id": "8", "job_group": "2",
            "job_desc": "x", "schedule_type": "FIX_RATE", "schedule_conf": "30",
            "executor_handler": "h", "glue_type": "BEAN", "trigger_status": "1"}]}])",
                                        {});
    ASSERT_EQ(dump.definitions.size(), 1u);
    EXPECT_EQ(Field(dump.definitions[0], "executor"), R"("orders")");
    EXPECT_THAT(Notes(ImportXxlJobs(R"({"code": 500, "msg": "no", "data": null})", {})),
                ElementsAre(HasSubstr("there are no rows of xxl_job_info")));
}

TEST(ImportXxlJobTest, QuartzCountsDaysFromOne) {
    EXPECT_EQ(CronOfQuartz("0 0 12 ? * 1"), "0 0 12 ? * 0");
    EXPECT_EQ(CronOfQuartz("0 0 12 ? * 6#3"), "0 0 12 ? * 5#3");
    EXPECT_EQ(CronOfQuartz("0 0 12 ? * 7L"), "0 0 12 ? * 6L");
    EXPECT_EQ(CronOfQuartz("0 0 12 ? * 6-2 2030"), "0 0 12 ? * FRI-MON 2030");
    EXPECT_EQ(CronOfQuartz("0 0 12 ? * MON,4"), "0 0 12 ? * MON,3");
    EXPECT_EQ(CronOfQuartz("0 50-10/5 * * * ?"), "0 50-59/5,0-10/5 * * * ?");
    EXPECT_EQ(CronOfQuartz("0 0 L * ?"), "0 0 L * ?") << "five fields are no Quartz";
}

TEST(ImportXxlJobTest, RowsWithoutTheNamesOfTheirColumnsAreToldOf) {
    const Imported imported = ImportXxlJobs("INSERT INTO `xxl_job_info` VALUES (1,1,'x');\n", {});
    EXPECT_TRUE(imported.unreadable);
    EXPECT_THAT(Notes(imported), ElementsAre(HasSubstr("--complete-insert")));
}

}  // namespace
}  // namespace takt::internal
