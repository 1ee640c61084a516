// Executors against real services, on real sockets and with real processes.
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <cerrno>
#include <csignal>
#include <future>
#include <thread>

#include "executor.grpc.pb.h"
#include "http/server.h"
#include "worker/demo.h"
#include "worker/executors/configured.h"
#include "worker/executors/grpc_executor.h"
#include "worker/executors/http_executor.h"
#include "worker/executors/process.h"
#include "worker/executors/shell_executor.h"

namespace takt::internal {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using namespace std::chrono_literals;

// What the worker would do with an attempt.
class Attempt final : public TaskReporter {
  public:
    explicit Attempt(std::string payload = {}, std::string type = "t") {
        task.execution_id = "e-1";
        task.task_id = "task-1";
        task.task_name = "Task";
        task.type = std::move(type);
        task.attempt = 2;
        task.epoch = 7;
        task.payload = std::move(payload);
        task.metadata = {{"a \"b\"", "c"}};
        task.traceparent = "00-trace-01";
    }
    TaskResult Run(Executor& executor, std::optional<Duration> timeout = {}) {
        std::optional<Steady> deadline;
        if (timeout) deadline = SteadyClock::now() + *timeout;
        TaskContext context(task, *this, stop.get_token(), deadline);
        return executor.Execute(context);
    }
    void OnProgress(double fraction, std::string_view) override { progress = fraction; }
    void OnLog(std::string_view line) override {
        lines.emplace_back(line);
        if (on_line) on_line(line);
    }
    StopReason stop_reason() const override { return StopReason::kNone; }

    AssignedTask task;
    std::stop_source stop;
    std::vector<std::string> lines;
    std::function<void(std::string_view)> on_line;
    double progress = 0;
};

// --- Http ---------------------------------------------------------------------------------------

class HttpExecutorTest : public testing::Test, public HttpHandler {
  protected:
    void SetUp() override {
        // Not owned: the fixture outlives the server.
        server_ = std::move(*HttpServer::Listen(
            loop_, {}, std::shared_ptr<HttpHandler>(std::shared_ptr<void>(), this)));
        thread_ = std::thread([this] {
            const auto work = boost::asio::make_work_guard(loop_);
            loop_.run();
        });
    }
    void TearDown() override {
        loop_.stop();
        thread_.join();
        held_ = nullptr;
        all_held_.clear();
        server_.reset();
    }
    void Handle(HttpRequest request, HttpReply reply) override {
        request_ = std::move(request);
        if (hold_ > 0) {
            all_held_.push_back(std::move(reply));
            if (all_held_.size() < hold_) return;
            for (HttpReply& held : all_held_) held(HttpResponse::Json(status_, body_));
            return all_held_.clear();
        }
        if (status_ == 0) {
            held_ = std::move(reply);
            return called_.set_value();
        }
        reply(HttpResponse::Json(status_, body_));
    }
    std::shared_ptr<HttpExecutor> Make(HttpExecutorOptions options = {}) {
        options.type = "t";
        options.url = "http://127.0.0.1:" + std::to_string(server_->port()) + "/run";
        options.response_bytes_max = 10'000;
        return *HttpExecutor::Create(std::move(options));
    }

    boost::asio::io_context loop_{1};
    std::unique_ptr<HttpServer> server_;
    std::thread thread_;
    HttpRequest request_;
    HttpReply held_;
    std::promise<void> called_;
    std::size_t hold_ = 0;  // So many calls must be there before any is answered.
    std::vector<HttpReply> all_held_;
    int status_ = 200;
    std::string body_ = R"({"ok":true})";
};

TEST_F(HttpExecutorTest, TheServiceGetsTheTaskAndItsAnswerIsTheResult) {
    const auto executor = Make({.headers = {{"X-Key", "secret"}}});
    const TaskResult result = Attempt(R"({"n":1})").Run(*executor);
    EXPECT_TRUE(result.success());
    EXPECT_EQ(result.data, R"({"ok":true})");
    EXPECT_EQ(request_.method, HttpMethod::kPost);
    EXPECT_EQ(request_.headers.Find("X-Key"), "secret");
    EXPECT_EQ(request_.headers.Find("Idempotency-Key"), "e-1/2");
    EXPECT_EQ(request_.headers.Find("traceparent"), "00-trace-01");
    EXPECT_THAT(request_.body, HasSubstr(R"("payload":{"n":1},"metadata":{"a \"b\"":"c"})"));
}

// What the service says decides whether to try again.
TEST_F(HttpExecutorTest, StatusCodesAreSuccessRetryOrFailure) {
    const auto executor = Make();
    for (const auto& [status, success, final] : {std::tuple{200, true, false},
                                                 {201, true, false},
                                                 {204, true, false},
                                                 {408, false, false},
                                                 {425, false, false},
                                                 {429, false, false},
                                                 {500, false, false},
                                                 {503, false, false},
                                                 {400, false, true},
                                                 {401, false, true},
                                                 {404, false, true},
                                                 {302, false, true}}) {
        status_ = status;
        body_ = status == 204 ? "" : "{}";
        const TaskResult result = Attempt().Run(*executor);
        EXPECT_EQ(result.success(), success) << status;
        EXPECT_EQ(result.final, final) << status;
        EXPECT_EQ(result.code, success ? 0 : status);
    }
}

// A worker with a capacity in the hundreds and one slow service behind it: a call that waited for a
// connection would fail at its deadline without having been made.
TEST_F(HttpExecutorTest, AsManyCallsAreMadeAtOnceAsThereAreAttempts) {
    hold_ = 80;
    const auto executor = Make();
    std::vector<std::future<TaskResult>> results;
    for (std::size_t i = 0; i < hold_; ++i) {
        results.push_back(
            std::async(std::launch::async, [&] { return Attempt().Run(*executor, 10s); }));
    }
    for (auto& result : results) {
        const TaskResult ended = result.get();
        EXPECT_TRUE(ended.success()) << ended.message;
    }
}

// `takt worker` with worker.executors, or --http and --grpc.
TEST_F(HttpExecutorTest, AnExecutorIsMadeFromWhatTheConfigurationSays) {
    const std::string url = "http://127.0.0.1:" + std::to_string(server_->port()) + "/run";
    auto http = MakeConfiguredExecutor({{"type", "t"}, {"protocol", "http"}, {"url", url}});
    ASSERT_TRUE(http) << http.error().detail;
    EXPECT_EQ((*http)->Type(), "t");
    EXPECT_TRUE(Attempt().Run(**http).success());
    auto grpc = MakeConfiguredExecutor(
        {{"type", "*"}, {"protocol", "grpc"}, {"url", "a:1"}, {"timeout", "1m"}});
    ASSERT_TRUE(grpc) << grpc.error().detail;
    EXPECT_EQ((*grpc)->Protocol(), "grpc");

    const auto field = [](ExecutorFields more) {
        ExecutorFields fields{{"type", "t"}, {"protocol", "http"}, {"url", "https://a/run"}};
        for (auto& [name, value] : more) fields[name] = value;
        const auto made = MakeConfiguredExecutor(fields);
        return made ? "" : made.error().field;
    };
    EXPECT_EQ(field({}), "");
    EXPECT_EQ(field({{"token", "secret"}}), "");
    EXPECT_EQ(field({{"token", "secret"}, {"url", "http://a/run"}}), "token");
    EXPECT_EQ(field({{"token", "secret"}, {"protocol", "grpc"}}), "token");
    EXPECT_EQ(field({{"protocol", "ftp"}}), "protocol");
    EXPECT_EQ(field({{"protocol", ""}}), "protocol");
    EXPECT_EQ(field({{"type", ""}}), "type");
    EXPECT_EQ(field({{"url", ""}}), "url");
    EXPECT_EQ(field({{"url", "billing"}}), "url");
    EXPECT_EQ(field({{"timeout", "soon"}}), "timeout");
    EXPECT_EQ(field({{"tls", "true"}}), "tls");
    EXPECT_EQ(field({{"headers", "x"}}), "headers");
}

TEST_F(HttpExecutorTest, AnAnswerThatIsTooLargeIsAFailure) {
    body_ = '"' + std::string(20'000, 'x') + '"';
    EXPECT_FALSE(Attempt().Run(*Make()).success());
}

TEST_F(HttpExecutorTest, AServiceThatIsNotThereMayBeTriedAgain) {
    auto executor = HttpExecutor::Create({.type = "t", .url = "http://127.0.0.1:1/"});
    const TaskResult result = Attempt().Run(**executor);
    EXPECT_FALSE(result.success());
    EXPECT_FALSE(result.final);
}

TEST_F(HttpExecutorTest, TheDeadlineEndsACall) {
    status_ = 0;
    EXPECT_FALSE(Attempt().Run(*Make(), 50ms).success());
}

TEST_F(HttpExecutorTest, AStopEndsACall) {
    status_ = 0;
    Attempt attempt;
    const auto executor = Make();
    auto done = std::async(std::launch::async, [&] { return attempt.Run(*executor); });
    called_.get_future().wait();
    attempt.stop.request_stop();
    EXPECT_THAT(done.get().message, HasSubstr("given up"));
}

// --- Grpc ---------------------------------------------------------------------------------------

// Ends when it is told to; a call that hangs, when the caller gives up.
class GrpcCall final : public grpc::ServerUnaryReactor {
  public:
    explicit GrpcCall(bool hangs) : hangs_(hangs) {}
    void OnCancel() override {
        if (hangs_) Finish(grpc::Status::CANCELLED);
    }
    void OnDone() override { delete this; }

  private:
    const bool hangs_;
};

class GrpcExecutorTest : public testing::Test, public executor::v1::Executor::CallbackService {
  protected:
    void SetUp() override {
        grpc::ServerBuilder builder;
        int port = 0;
        builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
        builder.RegisterService(this);
        server_ = builder.BuildAndStart();
        ASSERT_TRUE(server_);
        executor_ =
            *GrpcExecutor::Create({.type = "t", .address = "127.0.0.1:" + std::to_string(port)});
    }
    void TearDown() override {
        executor_.reset();
        server_->Shutdown();
    }
    grpc::ServerUnaryReactor* Execute(grpc::CallbackServerContext*,
                                      const executor::v1::ExecuteRequest* request,
                                      executor::v1::ExecuteResponse* response) override {
        request_ = *request;
        *response = response_;
        auto* call = new GrpcCall(hang_);
        if (hang_) {
            called_.set_value();
        } else {
            call->Finish(status_);
        }
        return call;
    }

    std::unique_ptr<grpc::Server> server_;
    std::shared_ptr<GrpcExecutor> executor_;
    executor::v1::ExecuteRequest request_;
    executor::v1::ExecuteResponse response_;
    grpc::Status status_;
    bool hang_ = false;
    std::promise<void> called_;
};

TEST_F(GrpcExecutorTest, TheServiceGetsTheTaskAndItsAnswerIsTheResult) {
    response_.set_data("[1]");
    response_.add_log("working");
    Attempt attempt("{}");
    const TaskResult result = attempt.Run(*executor_);
    EXPECT_TRUE(result.success()) << result.message;
    EXPECT_EQ(result.data, "[1]");
    EXPECT_THAT(attempt.lines, ElementsAre("working"));
    EXPECT_EQ(request_.execution_id(), "e-1");
    EXPECT_EQ(request_.attempt(), 2u);
    EXPECT_EQ(request_.epoch(), 7u);
    EXPECT_EQ(request_.metadata().at("a \"b\""), "c");
}

TEST_F(GrpcExecutorTest, AnAnswerWithACodeIsAFailure) {
    response_.set_code(5);
    response_.set_message("no stock");
    response_.set_final(true);
    const TaskResult result = Attempt().Run(*executor_);
    EXPECT_EQ(result.code, 5);
    EXPECT_EQ(result.message, "no stock");
    EXPECT_TRUE(result.final);
}

TEST_F(GrpcExecutorTest, StatusesAreRetryOrFailure) {
    for (const auto& [code, final] : {std::pair{grpc::StatusCode::UNAVAILABLE, false},
                                      {grpc::StatusCode::INTERNAL, false},
                                      {grpc::StatusCode::RESOURCE_EXHAUSTED, false},
                                      {grpc::StatusCode::INVALID_ARGUMENT, true},
                                      {grpc::StatusCode::PERMISSION_DENIED, true}}) {
        status_ = grpc::Status(code, "because");
        const TaskResult result = Attempt().Run(*executor_);
        EXPECT_FALSE(result.success());
        EXPECT_EQ(result.final, final) << code;
        EXPECT_THAT(result.message, HasSubstr("because"));
    }
}

TEST_F(GrpcExecutorTest, TheDeadlineEndsACall) {
    hang_ = true;
    const TaskResult result = Attempt().Run(*executor_, 50ms);
    EXPECT_EQ(result.code, grpc::StatusCode::DEADLINE_EXCEEDED);
    EXPECT_FALSE(result.final);
}

TEST_F(GrpcExecutorTest, AStopCancelsACall) {
    hang_ = true;
    Attempt attempt;
    auto done = std::async(std::launch::async, [&] { return attempt.Run(*executor_); });
    called_.get_future().wait();
    attempt.stop.request_stop();
    EXPECT_EQ(done.get().code, grpc::StatusCode::CANCELLED);
}

TEST_F(GrpcExecutorTest, ATokenIsNotSentInTheClear) {
    EXPECT_FALSE(GrpcExecutor::Create({.type = "t", .address = "a:1", .token = "secret"}));
}

// --- Shell --------------------------------------------------------------------------------------

std::shared_ptr<ShellExecutor> Shell(std::vector<std::string> argv = {}) {
    return *ShellExecutor::Create({.allow_shell = true,
                                   .argv = std::move(argv),
                                   .kill_grace = Duration(100),
                                   .output_bytes_max = 1'000});
}

TEST(ShellExecutorTest, IsOffUnlessAllowed) {
    const auto executor = ShellExecutor::Create({});
    ASSERT_FALSE(executor);
    EXPECT_EQ(executor.error().field, "allow_shell");
}

TEST(ShellExecutorTest, TheOutputIsTheLogAndTheExitStatusTheCode) {
    Attempt attempt(R"({"command": "echo one; echo two >&2; printf three; exit 3"})");
    const TaskResult result = attempt.Run(*Shell());
    EXPECT_EQ(result.code, 3);
    EXPECT_THAT(attempt.lines, ElementsAre("one", "two", "three"));
}

// No shell: what looks like one's syntax is only text.
TEST(ShellExecutorTest, ArgumentsAreNotInterpreted) {
    Attempt attempt(R"({"argv": ["echo", "$HOME; ls | wc", "*"]})");
    EXPECT_TRUE(attempt.Run(*Shell()).success());
    EXPECT_THAT(attempt.lines, ElementsAre("$HOME; ls | wc *"));
}

TEST(ShellExecutorTest, AConfiguredProgramGetsThePayloadAsItsInput) {
    Attempt attempt("payload " + std::string(300'000, 'x') + "\n");
    EXPECT_TRUE(attempt.Run(*Shell({"wc", "-c"})).success());
    EXPECT_THAT(attempt.lines, ElementsAre("300009"));
    // One that does not read it is no problem either.
    EXPECT_TRUE(Attempt(std::string(300'000, 'x')).Run(*Shell({"true"})).success());
}

TEST(ShellExecutorTest, TheEnvironmentTellsWhichAttemptItIs) {
    Attempt attempt(R"({"command": "echo $TAKT_EXECUTION_ID $TAKT_ATTEMPT $TAKT_EPOCH"})");
    attempt.Run(*Shell());
    EXPECT_THAT(attempt.lines, ElementsAre("e-1 2 7"));
}

// Whoever may submit a shell task reads what the worker's operator put into its environment: the
// token, the store's password, the cloud's keys.
TEST(ShellExecutorTest, SecretsOfTheWorkerAreNotInTheEnvironmentOfItsProcesses) {
    setenv("TAKT_WORKER_TOKEN", "secret", 1);
    setenv("LC_SHOWN", "c", 1);
    setenv("SHOWN_BY_NAME", "d", 1);
    const auto shell = *ShellExecutor::Create({.allow_shell = true, .env = {"SHOWN_BY_NAME"}});
    Attempt attempt(
        R"({"command": "echo $TAKT_WORKER_TOKEN:$LC_SHOWN:$SHOWN_BY_NAME:$TAKT_ATTEMPT; ls /"})");
    EXPECT_TRUE(attempt.Run(*shell).success()) << "PATH is needed";
    EXPECT_EQ(attempt.lines.at(0), ":c:d:2");
    unsetenv("TAKT_WORKER_TOKEN");
    unsetenv("LC_SHOWN");
    unsetenv("SHOWN_BY_NAME");
    EXPECT_EQ(ShellExecutor::Create({.allow_shell = true, .env = {"A=b"}}).error().field, "env");
}

// A worker with many connections runs out of descriptors, at any of the places that need one. The
// attempt may be tried again, and no process is left behind.
TEST(ShellExecutorTest, WithoutADescriptorToSpareTheAttemptFailsAndMayBeRetried) {
    const auto shell = Shell();
    rlimit before{};
    ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
    const int lowest = dup(STDIN_FILENO);
    ASSERT_GE(lowest, 0);
    close(lowest);
    int failures = 0;
    TaskResult result;
    for (int spare = 0; spare < 100 && (spare == 0 || !result.success()); ++spare) {
        const rlimit tight{static_cast<rlim_t>(lowest + spare), before.rlim_max};
        ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &tight), 0);
        result = Attempt(R"({"argv": ["true"]})").Run(*shell);
        ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
        failures += result.success() ? 0 : 1;
        EXPECT_FALSE(result.final) << result.message;
    }
    EXPECT_TRUE(result.success()) << result.message;
    EXPECT_GE(failures, 6) << "two pipes, an eventfd and a pidfd";
    EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1);
}

TEST(ShellExecutorTest, PayloadsThatNameNoProgramAreRejected) {
    for (const char* payload : {"", "[]", "{}", R"({"argv": []})", R"({"argv": "ls"})",
                                R"({"argv": [1]})", R"({"argv": ["a"], "command": "b"})", "{"}) {
        const TaskResult result = Attempt(payload).Run(*Shell());
        EXPECT_TRUE(result.rejected) << payload;
        EXPECT_TRUE(result.final);
    }
    EXPECT_EQ(Attempt(R"({"argv": ["/no/such/program"]})").Run(*Shell()).code, 127);
}

// The whole group dies, also what the program started and forgot.
TEST(ShellExecutorTest, AStopKillsTheProcessGroup) {
    Attempt attempt(R"({"command": "trap '' TERM; sleep 100 & echo $!; wait; sleep 100"})");
    attempt.on_line = [&](std::string_view) { attempt.stop.request_stop(); };
    const TaskResult result = attempt.Run(*Shell());
    EXPECT_EQ(result.code, 128 + SIGKILL);
    const pid_t child = std::stoi(attempt.lines.at(0));
    // Readable once it has ended, whether or not whoever adopted it has reaped it.
    const Descriptor watch(static_cast<int>(syscall(SYS_pidfd_open, child, 0)));
    if (!watch.open()) {
        EXPECT_EQ(errno, ESRCH) << "it cannot be watched";
        return;
    }
    pollfd ended{.fd = watch.get(), .events = POLLIN, .revents = 0};
    EXPECT_EQ(poll(&ended, 1, 10'000), 1) << "it still runs";
}

TEST(ShellExecutorTest, EndlessOutputIsCut) {
    Attempt attempt(R"({"command": "seq 100000"})");
    EXPECT_TRUE(attempt.Run(*Shell()).success());
    EXPECT_LT(attempt.lines.size(), 1'000u);
    EXPECT_THAT(attempt.lines.back(), HasSubstr("bytes of output left out"));
}

// --- Demo and registry --------------------------------------------------------------------------

TEST(DemoTest, HandlersDoWhatTheirNamesSay) {
    ExecutorRegistry executors;
    ASSERT_TRUE(AddDemoHandlers(executors));
    EXPECT_FALSE(AddDemoHandlers(executors));
    EXPECT_THAT(executors.Types(), ElementsAre("echo", "fail", "log", "noop", "sleep"));
    EXPECT_EQ(Attempt("[1]").Run(*executors.Find("echo")).data, "[1]");
    EXPECT_TRUE(Attempt().Run(*executors.Find("noop")).success());
    EXPECT_TRUE(Attempt(R"({"ms": 1})").Run(*executors.Find("sleep")).success());
    EXPECT_TRUE(Attempt(R"({"ms": -1})").Run(*executors.Find("sleep")).rejected);
    Attempt failing(R"({"times": 2})");
    failing.task.failures = 1;
    EXPECT_FALSE(failing.Run(*executors.Find("fail")).success());
    failing.task.failures = 2;
    EXPECT_TRUE(failing.Run(*executors.Find("fail")).success());
    Attempt logging(R"({"lines": 2})");
    logging.Run(*executors.Find("log"));
    EXPECT_THAT(logging.lines, ElementsAre("line 1 of 2", "line 2 of 2"));
    EXPECT_EQ(logging.progress, 1.0);
    Attempt sleeping(R"({"ms": 100000})");
    sleeping.stop.request_stop();
    EXPECT_FALSE(sleeping.Run(*executors.Find("sleep")).success());
}

TEST(ExecutorRegistryTest, AnExecutorForEveryTypeTakesTheRest) {
    ExecutorRegistry executors;
    const auto ok = [](TaskContext&) { return TaskResult::Success(); };
    ASSERT_TRUE(executors.AddFunction("a", ok));
    EXPECT_EQ(executors.Find("b"), nullptr);
    EXPECT_FALSE(executors.AddFunction("", ok));
    ASSERT_TRUE(executors.AddFunction("*", ok));
    EXPECT_NE(executors.Find("b"), nullptr);
    EXPECT_TRUE(executors.Types().empty());
}

}  // namespace
}  // namespace takt::internal
