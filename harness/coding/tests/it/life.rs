//! The life of a coding pod: clone over SSH, pull request, reports, expiry.

use std::time::Duration;

use fakes::git::Faults;
use fakes::model::{Gate, Point, Reply, Wire};
use foundry_client::{
    Approval, CheckView, CodingOutcome, DesiredState, Failure, Lifetime, PullRequestView,
};
use foundry_coding::platform::process::Exit;
use pretty_assertions::assert_eq;
use rstest::rstest;
use serde_json::json;

use crate::pod::{MAILBOX, Pod};
use crate::project::{add, check, commit_work, finish, git, mend, plan, run};
use crate::scene::DEADLINE;

fn push() -> Reply {
    Reply::call("git_push", json!({}))
}

fn open() -> Reply {
    let arguments = json!({ "title": "Greet politely", "description": "Adds the comma." });
    Reply::call("open_pull_request", arguments)
}

/// All that a good run does after its plan.
fn good() -> Vec<Reply> {
    vec![mend(), check(), add(), commit_work(), push(), open(), finish("completed")]
}

fn with_plan(steps: impl IntoIterator<Item = Reply>) -> Vec<Reply> {
    std::iter::once(plan("# Plan")).chain(steps).collect()
}

/// CODE-01, CODE-03, CODE-04, CODE-05, CODE-06, CODE-07, CODE-30, CODE-32, LIFE-11
#[rstest]
#[case(Wire::OpenAi)]
#[case(Wire::Anthropic)]
#[tokio::test]
async fn a_run_goes_from_clone_to_pull_request_and_expires_its_agent(#[case] wire: Wire) {
    let pod = Pod::new(wire).await;
    pod.model.script(with_plan(good()));
    assert_eq!(pod.lives().await, Exit::Well);
    pod.model.finish().unwrap();

    let (report, result) = pod.result();
    assert_eq!(
        (result.outcome, result.summary.as_str()),
        (CodingOutcome::Completed, "It greets properly.")
    );
    assert_eq!((report.generation, report.branch.as_deref()), (3, Some("flow/fix-greeting")));
    assert_eq!((report.attempts, report.turns), (Some(2), Some(8)));
    assert_eq!(
        report.checks,
        Some(vec![CheckView { name: "node --test".to_owned(), passed: true }])
    );
    let remote = pod.remote();
    assert_eq!(report.head_commit, remote.head("flow/fix-greeting").unwrap());
    assert_eq!(report.base_commit, remote.head("main").unwrap());
    let commit = &remote.log("flow/fix-greeting").unwrap()[0];
    assert_eq!((commit.author_name.as_str(), commit.author_email.as_str()), (MAILBOX, MAILBOX));

    let [pull] = pod.github.pull_requests("acme/greeting").try_into().unwrap();
    assert_eq!(
        (pull.title.as_str(), pull.head.as_str(), pull.base.as_str()),
        ("Greet politely", "flow/fix-greeting", "main")
    );
    assert!(pull.body.starts_with(&format!("## Agent\n\n{MAILBOX}\n")), "{}", pull.body);
    let view = PullRequestView { url: pull.html_url.clone(), number: 1 };
    assert_eq!(report.pull_request, Some(view));

    let plans = pod.events("plan");
    assert_eq!(plans[0].message, "plan saved at documents:doc-1");
    let order = ["save plan", "report coding", "record run", "expire agent"];
    let last = pod
        .api
        .state()
        .calls
        .iter()
        .rev()
        .find(|(call, _)| *call != "post logs" && *call != "send heartbeat")
        .unwrap()
        .0;
    assert_eq!(last, "expire agent", "nothing comes after it");
    assert_eq!(pod.order(&order).last(), Some(&"expire agent"));
    assert!(pod.calls()["report coding"] <= 8, "{:?}", pod.calls());
    assert_eq!(pod.api.messages()[0], "harness started");
    assert_eq!(pod.lines("stopped"), ["harness stopped"]);
    assert_eq!(pod.api.state().runs[0].outcome, "completed");
}

/// CODE-03: the branch is there when the model is asked for the first time.
#[tokio::test]
async fn the_branch_is_checked_out_before_the_first_model_call() {
    let pod = Pod::new(Wire::OpenAi).await;
    let gate = Gate::new();
    pod.model.script([finish("failed").held(Point::Headers, &gate)]);
    pod.lives_while(async {
        pod.model.request(1).await;
        assert_eq!(git(&pod.clone(), &["branch", "--show-current"]), "flow/fix-greeting");
    })
    .await;
}

/// CODE-18, CODE-32: the words say what is missing, one after another.
#[tokio::test]
async fn completed_needs_push_and_pull_request() {
    let pod = Pod::new(Wire::OpenAi).await;
    pod.model.script(with_plan([
        mend(),
        check(),
        add(),
        commit_work(),
        finish("completed"),
        open(),
        push(),
        finish("completed"),
        open(),
        finish("completed"),
    ]));
    assert_eq!(pod.lives().await, Exit::Well);
    pod.model.finish().unwrap();
    pod.ended_as(CodingOutcome::Completed);
    let result = |number: usize| {
        pod.model.requests()[number - 1].tool_results().last().unwrap().content.clone()
    };
    assert!(result(7).contains("call git_push") && result(7).contains("call open_pull_request"));
    assert!(result(8).contains("call git_push first"), "{}", result(8));
    assert!(!result(10).contains("git_push") && result(10).contains("open_pull_request"));
}

/// CODE-08
#[tokio::test]
async fn merging_is_offered_and_refused() {
    let pod = Pod::new(Wire::OpenAi).await;
    pod.model.script(with_plan([Reply::call("merge_pull_request", json!({})), finish("failed")]));
    pod.lives().await;
    let merged = &pod.model.requests()[2].tool_results()[0];
    assert!(merged.content.contains("allow_merge is false"), "{}", merged.content);
}

/// CODE-06: without a token the run says so and does not pretend.
#[tokio::test]
async fn a_pull_request_that_cannot_be_opened_keeps_the_run_from_being_completed() {
    let mut pod = Pod::new(Wire::OpenAi).await;
    pod.token = None;
    pod.model.script(with_plan(good().into_iter().chain([finish("failed")])));
    pod.lives().await;
    pod.model.finish().unwrap();
    pod.ended_as(CodingOutcome::Failed);
    let requests = pod.model.requests();
    assert!(requests[7].tool_results()[0].content.contains("GITHUB_TOKEN"));
    assert!(requests[8].tool_results()[0].content.contains("no pull request is open"));
    let warnings = pod.lines("warning");
    assert!(warnings[0].starts_with("no pull request can be opened: there is no token for"));
}

/// CODE-05
#[tokio::test]
async fn a_refused_push_is_told_to_the_model_in_the_hosts_words() {
    let pod = Pod::new(Wire::OpenAi).await;
    pod.git.refuse_pushes(None, None, Some("branches are frozen today"));
    pod.model.script(with_plan([mend(), check(), add(), commit_work(), push(), finish("failed")]));
    pod.lives().await;
    let pushed = &pod.model.requests()[6].tool_results()[0].content;
    assert!(pushed.contains("branches are frozen today"), "{pushed}");
}

/// CODE-10, CODE-05
#[tokio::test]
async fn commits_outside_the_permitted_paths_are_not_pushed() {
    let pod = Pod::new(Wire::OpenAi).await;
    pod.scope(|scope| scope.paths = vec!["greet.js".to_owned()]);
    let program = "require('fs').appendFileSync('package.json', '\\n')";
    pod.model.script(with_plan([
        run(&["node", "-e", program]),
        add(),
        commit_work(),
        push(),
        finish("failed"),
    ]));
    pod.lives().await;
    let pushed = &pod.model.requests()[5].tool_results()[0].content;
    assert!(pushed.contains("outside the permitted paths"), "{pushed}");
    assert!(pushed.ends_with("package.json"), "{pushed}");
    assert_eq!(pod.remote().head("flow/fix-greeting").unwrap(), None);
}

/// CODE-01
#[tokio::test]
async fn a_refused_key_ends_the_run_before_any_model_call() {
    let pod = Pod::new(Wire::OpenAi).await;
    pod.git.refuse_auth(true);
    assert_eq!(pod.lives().await, Exit::Well);
    pod.ended_as(CodingOutcome::CloneFailed);
    assert!(pod.model.requests().is_empty());
    assert_eq!(pod.calls()["expire agent"], 1);
}

/// CODE-01
#[tokio::test]
async fn a_changed_host_key_is_never_accepted() {
    let pod = Pod::new(Wire::OpenAi).await;
    pod.git.change_host_key(true);
    pod.lives().await;
    let result = pod.ended_as(CodingOutcome::CloneFailed);
    assert!(result.summary.contains("host key"), "{}", result.summary);
}

/// CODE-02
#[tokio::test]
async fn a_base_that_is_not_there_ends_the_run_by_its_name() {
    let pod = Pod::new(Wire::OpenAi).await;
    pod.scope(|scope| scope.base_ref = Some("release-9".to_owned()));
    pod.lives().await;
    let result = pod.ended_as(CodingOutcome::CloneFailed);
    assert!(result.summary.contains("release-9"), "{}", result.summary);
}

/// CODE-24: a host that is away is tried again while there is time.
#[tokio::test]
async fn a_host_that_is_away_is_tried_again() {
    let pod = Pod::new(Wire::OpenAi).await;
    pod.git.set_faults(Faults { cut_after_sent: Some(100), ..Faults::default() });
    pod.model.script(with_plan([finish("failed")]));
    let back = async {
        pod.tells("warning").await;
        pod.git.set_faults(Faults::default());
        std::future::pending::<()>().await;
    };
    pod.lives_while(back).await;
    pod.ended_as(CodingOutcome::Failed);
}

/// CODE-24, CODE-27
#[tokio::test]
async fn the_agent_is_expired_when_its_clock_runs_out() {
    let pod = Pod::new(Wire::OpenAi).await;
    pod.scope(|scope| scope.wall_clock_seconds = Some(3));
    let never = Gate::new();
    pod.model.script([plan("# Plan").held(Point::Headers, &never)]);
    assert_eq!(pod.lives().await, Exit::Well);
    pod.ended_as(CodingOutcome::OutOfTime);
    assert_eq!(pod.calls()["expire agent"], 1);
}

/// CODE-35
#[tokio::test]
async fn an_unreadable_catalog_is_one_warning_and_a_task_without_platform_tools() {
    let pod = Pod::new(Wire::OpenAi).await;
    pod.api.fail("list tools", 500, "no catalog");
    pod.model.script(with_plan([finish("failed")]));
    pod.lives().await;
    pod.ended_as(CodingOutcome::Failed);
    let warnings = pod.lines("warning");
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(warnings[0].starts_with("no tools of the platform in this task: "), "{warnings:?}");
    assert!(!pod.model.requests()[0].tools().contains(&"list_queue_errors".to_owned()));
}

/// CODE-36, CODE-35
#[tokio::test]
async fn the_dead_letter_queue_can_be_read_in_both_phases() {
    let pod = Pod::new(Wire::OpenAi).await;
    pod.model.script([
        Reply::call("list_queue_errors", json!({ "queue": "ingest" })),
        plan("# Plan"),
        finish("failed"),
    ]);
    pod.lives().await;
    let requests = pod.model.requests();
    assert!(requests[1].tool_results()[0].content.contains(r#""queue":"ingest""#));
    for request in [&requests[0], &requests[2]] {
        assert!(request.tools().contains(&"list_queue_errors".to_owned()));
        assert!(!request.tools().iter().any(|tool| tool.contains("queue_job")));
    }
}

/// CODE-31, CODE-17
#[tokio::test]
async fn a_persons_build_with_the_plans_digest_begins_the_work() {
    let pod = Pod::new(Wire::OpenAi).await;
    pod.scope(|scope| scope.approval = Some(Approval::Person));
    pod.model.script(with_plan([finish("failed")]));
    let person = async {
        pod.waits_for(|api| !api.times("poll answer").is_empty()).await;
        assert_eq!(pod.model.requests().len(), 1, "nothing is built before");
        pod.api.answer("build");
        std::future::pending::<()>().await;
    };
    pod.lives_while(person).await;
    pod.ended_as(CodingOutcome::Failed);
    let state = pod.api.state();
    let question = &state.questions[0];
    assert_eq!(question.generation, 3);
    assert_eq!(
        question.plan_sha256.as_deref(),
        Some(foundry_coding::digest::sha256("# Plan").as_str())
    );
    assert!(state.reports.iter().all(|report| report.approved_plan_sha256.is_none()));
    drop(state);
    assert_eq!(pod.lines("question").len(), 1);
}

/// LIFE-14, CODE-34: the next process knows nothing of the plan that waited.
#[tokio::test]
async fn a_restarted_process_begins_anew_from_the_agents_instructions() {
    let mut pod = Pod::new(Wire::OpenAi).await;
    pod.scope(|scope| scope.approval = Some(Approval::Person));
    pod.model.script([plan("# First")]);
    let waiting = async {
        pod.waits_for(|api| !api.times("poll answer").is_empty()).await;
    };
    assert_eq!(pod.lives_while(waiting).await, Exit::Well);
    assert!(pod.api.state().reports.iter().all(|report| report.result.is_none()));
    assert!(!pod.calls().contains_key("expire agent"));

    pod.stop = tokio_util::sync::CancellationToken::new();
    pod.scope(|scope| scope.approval = Some(Approval::Itself));
    pod.model.script([plan("# Second"), finish("failed")]);
    pod.lives().await;
    let second = &pod.model.requests()[1];
    assert_eq!(second.last_user_text(), "# Task\n\nFix the greeting.");
    assert_eq!(second.messages().len(), 2, "system prompt and task, nothing else");
}

#[tokio::test]
async fn a_result_that_the_api_refuses_is_a_failure_of_the_process() {
    let pod = Pod::new(Wire::OpenAi).await;
    pod.api.fail("report coding", 422, "no such field");
    pod.model.script(with_plan([finish("failed")]));
    assert_eq!(pod.lives().await, Exit::ResultLost);
    assert!(!pod.calls().contains_key("expire agent"), "its end is not known to anybody");
}

/// LIFE-11
#[tokio::test]
async fn an_agent_that_cannot_be_expired_is_left_to_its_time_to_live() {
    let pod = Pod::new(Wire::OpenAi).await;
    pod.api.fail("expire agent", 404, "no such agent");
    pod.model.script(with_plan([finish("failed")]));
    assert_eq!(pod.lives().await, Exit::Well);
    assert!(pod.lines("error").iter().any(|line| line.contains("was not expired")));
}

/// LIFE-14
#[tokio::test]
async fn a_process_whose_agent_was_started_anew_does_not_expire_it() {
    let pod = Pod::new(Wire::OpenAi).await;
    let superseded = Failure::Status {
        status: 409,
        problem: "start 4 began".to_owned(),
        reason: Some("Superseded".to_owned()),
    };
    pod.api.state().failing.insert("report coding", superseded);
    pod.model.script(with_plan([finish("failed")]));
    assert_eq!(pod.lives().await, Exit::Well);
    assert!(!pod.calls().contains_key("expire agent"));
}

/// LIFE-14
#[tokio::test]
async fn a_process_whose_agent_was_started_anew_stops_working_at_once() {
    let pod = Pod::new(Wire::OpenAi).await;
    let superseded = Failure::Status {
        status: 409,
        problem: "start 4 began".to_owned(),
        reason: Some("Superseded".to_owned()),
    };
    pod.api.state().failing.insert("report coding", superseded);
    let never = Gate::new();
    pod.model.script([plan("# Plan").held(Point::Headers, &never)]);
    assert_eq!(pod.lives().await, Exit::Well);
    assert!(!pod.calls().contains_key("expire agent"));
    assert!(pod.api.state().runs.is_empty());
}

/// Whether a process of this machine has this among its arguments.
pub fn runs(mark: &str) -> bool {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    processes.into_iter().any(|process| {
        let arguments = std::fs::read(process.path().join("cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&arguments).contains(mark)
    })
}

/// CODE-27: a process that is told to stop reports nothing false, and leaves nothing
/// running.
#[tokio::test]
async fn a_process_that_is_told_to_stop_ends_its_command_and_reports_no_result() {
    let pod = Pod::new(Wire::OpenAi).await;
    let mark = format!("mark-{}", pod.git.port());
    let program = format!("'{mark}'; setInterval(() => {{}}, 1000)");
    pod.model.script(with_plan([run(&["node", "-e", &program])]));
    let stopping = pod.waits_for(|_| runs(&mark));
    assert_eq!(pod.lives_while(stopping).await, Exit::Well);
    // It is killed by then; the kernel takes a moment to clear it away.
    let gone = tokio::time::timeout(DEADLINE, pod.waits_for(|_| !runs(&mark)));
    gone.await.expect("the command outlived its run");
    assert!(pod.api.state().reports.iter().all(|report| report.result.is_none()));
    assert!(!pod.calls().contains_key("expire agent"));
    assert_eq!(pod.lines("stopped"), ["harness stopped"]);
}

/// CODE-28, CODE-34
#[tokio::test]
async fn each_wake_of_a_persistent_agent_is_a_task_on_a_branch_of_its_own() {
    let pod = Pod::new(Wire::OpenAi).await;
    pod.api.state().agent.lifetime = Lifetime::Persistent;
    pod.api.state().agent.instructions = "Keep it simple.".to_owned();
    let wake = pod.api.wake("Greet in Korean.");
    pod.model.script(with_plan([finish("failed")]));
    let done = async {
        pod.waits_for(|api| !api.state().runs.is_empty()).await;
    };
    assert_eq!(pod.lives_while(done).await, Exit::Well);
    let request = &pod.model.requests()[0];
    assert!(request.system().contains("# Instructions\n\nKeep it simple."));
    assert_eq!(request.last_user_text(), "# Task\n\nGreet in Korean.");
    let state = pod.api.state();
    assert_eq!((state.runs[0].wake_id, state.runs[0].outcome.as_str()), (Some(wake), "failed"));
    let branch = state.reports[0].branch.clone().unwrap();
    assert!(branch.starts_with("flow/fix-greeting-") && branch.len() > 18, "{branch}");
    drop(state);
    assert!(!pod.calls().contains_key("expire agent"), "a persistent agent lives on");
}

/// LOOP-28: a task that is done when the process is told to stop is not done again.
#[tokio::test]
async fn a_result_that_a_stop_meets_on_its_way_is_brought_away_and_its_wake_acknowledged() {
    let pod = Pod::new(Wire::OpenAi).await;
    pod.api.state().agent.lifetime = Lifetime::Persistent;
    let wake = pod.api.wake("Greet in Korean.");
    pod.api.fail("report coding", 503, "starting");
    pod.model.script(with_plan([finish("failed")]));
    let back = async {
        pod.stop.cancelled().await;
        tokio::time::sleep(Duration::from_millis(300)).await;
        pod.api.heal("report coding");
    };
    let (exit, ()) = tokio::join!(pod.lives_while(pod.tells("result")), back);
    assert_eq!(exit, Exit::Well);
    pod.ended_as(CodingOutcome::Failed);
    let state = pod.api.state();
    assert_eq!(state.runs.iter().map(|run| run.wake_id).collect::<Vec<_>>(), [Some(wake)]);
    assert!(state.wakes.is_empty());
}

/// LIFE-17
#[tokio::test]
async fn a_wake_of_an_agent_that_was_just_stopped_stays_in_the_inbox() {
    let pod = Pod::new(Wire::OpenAi).await;
    pod.api.state().agent.lifetime = Lifetime::Persistent;
    let stopping = async {
        pod.waits_for(|api| !api.times("poll inbox").is_empty()).await;
        pod.api.state().agent.desired_state = DesiredState::Stopped;
        pod.api.wake("Greet in Korean.");
        pod.tells("rest").await;
    };
    assert_eq!(pod.lives_while(stopping).await, Exit::Well);
    assert!(pod.lines("rest")[0].starts_with("leaves the wake in the inbox: the agent is stopped"));
    assert!(pod.model.requests().is_empty());
    assert_eq!(pod.api.state().wakes.len(), 1);
}

/// BIND-11, CODE-05
#[tokio::test]
async fn no_command_of_the_model_sees_a_token_or_the_folder_of_keys() {
    let pod = Pod::new(Wire::OpenAi).await;
    let key = pod.folder.path().join("ssh/github").display().to_string();
    pod.model.script(with_plan([run(&["env"]), run(&["cat", &key]), finish("failed")]));
    pod.lives().await;
    let requests = pod.model.requests();
    let environment = &requests[2].tool_results()[0].content;
    assert!(!environment.contains("FOUNDRY_") && !environment.contains("TOKEN"), "{environment}");
    assert!(environment.contains(&format!("GIT_AUTHOR_EMAIL={MAILBOX}")), "{environment}");
    let confined = !pod.lines("warning").iter().any(|line| line.contains("folder of keys"));
    if confined {
        let read = &requests[3].tool_results()[0].content;
        assert!(!read.contains("PRIVATE KEY"), "{read}");
    }
    assert!(!format!("{:?}", pod.api.messages()).contains(crate::pod::TOKEN));
}
