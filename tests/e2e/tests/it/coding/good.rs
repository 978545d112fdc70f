//! The demo's run: a CodingRun is applied, a person reads its plan and says yes, and
//! there is a pull request whose checks passed.

use fakes::git::openssh;
use fakes::model::file::ScriptFile;
use foundry_crds::coding_run::{CheckResult, Phase};
use foundry_crds::{Agent, CodingRun};
use k8s_openapi::api::batch::v1::Job;
use kube::ResourceExt;
use kube::api::ListParams;
use pretty_assertions::assert_eq;
use sha2::{Digest as _, Sha256};
use testenv::eventually;

use super::play::Part;
use super::run::{Run, build, complete, condition, reported};
use super::world::{GITHUB_TOKEN, PERSON, Parts, World, example};
use crate::world::DEADLINE;

const RUN: &str = "fix-greeting";
const REPOSITORY: &str = "acme/greeting";

/// What a run brings; the same script brings the same.
#[derive(Debug, PartialEq, Eq)]
struct Fruit {
    plan: String,
    digest: String,
    diff: String,
    title: String,
    body: String,
    head: String,
    base: String,
}

/// LIFE-11, ROUTE-12, ROUTE-13, CODE-01, CODE-02, CODE-03, CODE-04, CODE-06, CODE-07,
/// CODE-18, CODE-20, CODE-29, CODE-30, CODE-31, CODE-36, MEM-01
#[tokio::test(flavor = "multi_thread")]
async fn an_applied_run_becomes_the_same_pull_request_on_every_database_and_git_server() {
    let database = testenv::postgres().await.database().await;
    let sshd = openssh::sshd(&testenv::cache_folder().unwrap());
    let (one, other) =
        tokio::join!(fruit(Parts::default()), fruit(Parts { database: Some(database), sshd }),);
    assert_eq!(one, other);
}

async fn fruit(parts: Parts) -> Fruit {
    let world = World::start(parts).await;
    let script = testenv::workspace_root().join("tests/fakes/scripts/coding.yaml");
    ScriptFile::read(&script).unwrap().play_on(&world.model);
    let source = testenv::workspace_root().join("examples/coding/repository");
    let run = world.lay(RUN, REPOSITORY, &source);

    let since = world.version().await;
    let (phases, fruit) = tokio::join!(run.phases(&since), play(&run));
    let expected = [
        Phase::Pending,
        Phase::Planning,
        Phase::AwaitingApproval,
        Phase::Building,
        Phase::Succeeded,
    ];
    assert_eq!(phases, expected);
    world.model.finish().unwrap();
    drop(run);
    world.end().await;
    fruit
}

/// What a person does, and what is to be seen meanwhile.
async fn play(run: &Run) -> Fruit {
    let world = &run.world;
    let applied = apply(run).await;
    assert!(applied.ends_with(" created\n"), "{applied}");
    let question = run.plan_question().await;
    assert!(row(run).await.contains("AwaitingApproval"));
    let plan = saved_plan(run).await;
    let digest = question.plan_sha256.clone().unwrap();
    let computed: Vec<_> = Sha256::digest(&plan).iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(digest, computed.concat());
    assert_eq!(run.pull_requests(), []);
    world.api.answer(RUN, &build(&question)).await.unwrap();

    let done = run.until_succeeded().await;
    assert_eq!(reported(&done).plan.unwrap().approved_by.as_deref(), Some(PERSON));
    assert_conditions(&done);
    assert_commits(run);
    assert_report(run).await;
    assert_ended(run).await;
    assert_offers(run);
    let mut pull_requests = run.pull_requests();
    let pull_request = pull_requests.remove(0);
    let line = row(run).await;
    for word in ["Succeeded", "flow/fix-greeting", "2/2", &pull_request.html_url] {
        assert!(line.contains(word), "{word} is not in {line}");
    }
    run.assert_go_tests_pass();
    assert!(apply(run).await.ends_with(" unchanged\n"), "a second apply changes nothing");
    Fruit {
        plan,
        digest,
        diff: run.bare.diff("main", &run.branch()).unwrap(),
        title: pull_request.title,
        body: pull_request.body,
        head: pull_request.head,
        base: pull_request.base,
    }
}

/// As a person does it: the example's manifest with another remote, by kubectl.
async fn apply(run: &Run) -> String {
    let mut manifest: CodingRun = example("coding/codingrun.yaml");
    manifest.spec.repository.remote = run.world.git.remote(REPOSITORY);
    let file = run.world.folder.join("codingrun.yaml");
    std::fs::write(&file, foundry_crds::yaml::to_yaml(&manifest).unwrap()).unwrap();
    run.world.kubectl(&["apply", "--filename", file.to_str().unwrap()]).await
}

/// The run's line in `kubectl get codingruns`.
async fn row(run: &Run) -> String {
    let table = run.world.kubectl(&["get", "codingruns"]).await;
    let mut lines = table.lines();
    let columns: Vec<_> = lines.next().unwrap().split_whitespace().collect();
    assert_eq!(columns, ["NAME", "PHASE", "BRANCH", "CHECKS", "PR", "AGE"]);
    lines.find(|line| line.starts_with(RUN)).unwrap().to_owned()
}

/// The plan, by the link that its reader gets; and by no other.
async fn saved_plan(run: &Run) -> String {
    let api = &run.world.api;
    let view = api.get_coding_run(RUN).await.unwrap();
    let document = view.plan.unwrap().document_id;
    let data = run.first_line_of("plan").await.event.data.unwrap();
    assert_eq!(data["location"], format!("documents:{document}"));
    assert_eq!(api.get_agent(RUN).await.unwrap().plan_document_id.as_deref(), Some(&*document));

    let http = reqwest::Client::builder().no_proxy().timeout(DEADLINE).build().unwrap();
    let link = api.plan_link(RUN, &document).await.unwrap();
    let answer = http.get(&link.url).send().await.unwrap().error_for_status().unwrap();
    let kind = answer.headers()["content-type"].to_str().unwrap().to_owned();
    assert!(kind.starts_with("text/markdown"), "{kind}");
    let forged = link.url.replace(&document, "another");
    assert!(http.get(forged).send().await.unwrap().status().is_client_error());
    let other = api.plan_link(RUN, "another").await.unwrap_err();
    assert_eq!(other.status(), Some(404));
    answer.text().await.unwrap()
}

fn assert_conditions(run: &CodingRun) {
    assert_eq!(complete(run).0, "True");
    assert_eq!(condition(run, "Ready").map(|ready| ready.0).as_deref(), Some("True"));
    for kind in ["Reconciling", "Stalled"] {
        let is = condition(run, kind).map(|condition| condition.0);
        assert!(is.is_none_or(|status| status == "False"), "{kind}");
    }
}

/// Commits of the agent's own, on the default branch as it was.
fn assert_commits(run: &Run) {
    let mine = run.bare.log(&format!("main..{}", run.branch())).unwrap();
    assert!(!mine.is_empty());
    let body = &run.pull_requests()[0].body;
    for commit in mine {
        assert_eq!(commit.author_name, commit.author_email);
        assert!(commit.author_email.starts_with("fix-greeting@"), "{}", commit.author_email);
        let opening: Vec<_> = body.lines().filter(|line| !line.is_empty()).take(2).collect();
        assert!(opening[0].starts_with('#') && opening[0].ends_with("Agent"), "{body}");
        assert!(opening[1].contains(&commit.author_email), "{body}");
    }
    assert_eq!(run.world.git.pushes(REPOSITORY), 1);
    assert_eq!(run.pull_requests()[0].base, "main");
}

/// Turns, tokens, cost and checks, each counted once.
async fn assert_report(run: &Run) {
    let asked = i64::try_from(run.world.model.requests().len()).unwrap();
    let counted = run
        .until("counted", |_, reported| {
            reported.turns == Some(asked)
                && reported.usage.as_ref().is_some_and(|usage| usage.calls == asked)
        })
        .await;
    let report = reported(&counted);
    let usage = report.usage.clone().unwrap();
    assert!(usage.input_tokens > 0 && usage.output_tokens > 0 && usage.cost_micros > 0);
    assert_eq!(report.head_commit, run.head());
    assert_eq!(report.base_commit, run.bare.head("main").unwrap());
    assert_eq!(report.branch, Some(run.branch()));
    assert!(report.checks.iter().all(|check| check.result == CheckResult::Passed));
    assert_eq!(report.result.unwrap().outcome, "completed");
    assert_eq!(report.question, None);
    let pull_request = report.pull_request.unwrap();
    assert_eq!(pull_request.url, run.pull_requests()[0].html_url);
    let view = run.world.api.get_coding_run(RUN).await.unwrap();
    assert_eq!((view.phase.as_deref(), i64::from(view.turns)), (Some("Succeeded"), asked));
}

/// LIFE-11: one agent, expired; one Job, at its end; no process.
async fn assert_ended(run: &Run) {
    run.until_expired().await;
    let world = &run.world;
    let agents = world.objects::<Agent>().list(&ListParams::default()).await.unwrap();
    let names: Vec<_> = agents.iter().map(ResourceExt::name_any).collect();
    assert_eq!(names, [RUN]);
    eventually("its Job is at its end", DEADLINE, || async {
        let jobs = world.objects::<Job>().list(&ListParams::default()).await.unwrap().items;
        let active = jobs.iter().filter_map(|job| job.status.as_ref()?.active).sum::<i32>();
        if active == 0 && jobs.len() <= 1 { Ok(()) } else { Err(format!("{jobs:?}")) }
    })
    .await;
}

/// What the model may call, by phase; and no key in what it is asked.
fn assert_offers(run: &Run) {
    for request in run.world.model.requests() {
        let tools = request.tools();
        let has = |tool: &str| tools.iter().any(|name| name == tool);
        assert!(has("list_queue_errors") && has("read_file"), "{tools:?}");
        assert!(!has("requeue_queue_jobs") && !has("expire_queue_job"), "{tools:?}");
        let planning = request.system().contains(Part::Planning.heading());
        assert_eq!(has("save_coding_plan"), planning);
        assert_eq!(has("finish"), !planning);
        assert!(!request.raw.contains(GITHUB_TOKEN));
    }
}
