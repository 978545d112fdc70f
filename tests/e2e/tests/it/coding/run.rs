//! One run of a task on a repository of its own, and a person who looks at it.

use std::path::{Path, PathBuf};
use std::process::Command;

use fakes::git::BareRepository;
use fakes::github::PullRequest;
use fakes::model::Captured;
use foundry_client::{
    Answer, DesiredState, LogLine, PostAnswer, QuestionKind, QuestionView, Status,
};
use foundry_crds::CodingRun;
use foundry_crds::coding_run::{CodingRunStatus, Phase, Reported};
use futures::TryStreamExt as _;
use kube::api::{ListParams, WatchEvent, WatchParams};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use testenv::eventually;
use testenv::stack::Harness;

use super::notes;
use super::play::{Part, mark};
use super::world::{PERSON, World};
use crate::world::{DEADLINE, assert_whole};

/// A run that was applied.
#[derive(Clone)]
pub struct Run {
    pub world: World,
    /// Name of the CodingRun, and of its agent.
    pub name: String,
    /// Words in its task, see [`mark`].
    pub mark: String,
    /// The repository, as `owner/name`.
    pub repository: String,
    /// The repository at its host.
    pub bare: BareRepository,
}

impl World {
    /// The version of the cluster's runs as they are now.
    pub async fn version(&self) -> String {
        let runs = self.objects::<CodingRun>().list(&ListParams::default()).await.unwrap();
        runs.metadata.resource_version.unwrap()
    }

    /// Applies a run on a new repository with these files.
    pub async fn apply(&self, name: &str, files: &Path) -> Run {
        self.apply_with(name, files, &json!({})).await
    }

    /// Applies a run on the notes; the model plans and builds as it should.
    pub async fn apply_notes(&self, name: &str) -> Run {
        self.play_notes(name);
        self.apply(name, &notes::files(self)).await
    }

    /// Applies a run with further fields in its spec.
    pub async fn apply_with(&self, name: &str, files: &Path, spec: &Value) -> Run {
        let run = self.lay(name, &format!("acme/{name}"), files);
        self.apply_to(&run, spec).await;
        run
    }

    /// Applies a run that has its repository, with further fields in its spec.
    pub async fn apply_to(&self, run: &Run, spec: &Value) {
        let mut fields = json!({
            "owner": PERSON,
            "task": format!("Mend what is broken ({}).", run.mark),
            "repository": {"remote": self.git.remote(&run.repository)},
        });
        merge(&mut fields, spec);
        let object: CodingRun = serde_json::from_value(json!({
            "apiVersion": "foundry.flow.life/v1alpha1",
            "kind": "CodingRun",
            "metadata": {"name": run.name},
            "spec": fields,
        }))
        .unwrap();
        self.create(object).await;
    }

    /// A new repository with these files, for a run of this name.
    pub fn lay(&self, name: &str, repository: &str, files: &Path) -> Run {
        let place = self.folder.join("repositories").join(format!("{repository}.git"));
        let bare = BareRepository::make(&place, files).unwrap();
        let (name, repository) = (name.to_owned(), repository.to_owned());
        Run { world: self.clone(), mark: mark(&name), name, repository, bare }
    }
}

impl Run {
    /// The branch of its work.
    pub fn branch(&self) -> String {
        format!("flow/{}", self.name)
    }

    /// The resource as it is now.
    pub async fn resource(&self) -> CodingRun {
        self.world.objects().get(&self.name).await.unwrap()
    }

    /// Waits until the resource is as wanted.
    pub async fn until(
        &self,
        what: &str,
        wanted: impl Fn(&CodingRunStatus, &Reported) -> bool,
    ) -> CodingRun {
        eventually(&format!("run {} is {what}", self.name), DEADLINE, || async {
            let run = self.resource().await;
            let status = run.status.clone().unwrap_or_default();
            let reported = status.reported.clone().unwrap_or_default();
            if wanted(&status, &reported) { Ok(run) } else { Err(format!("{status:#?}")) }
        })
        .await
    }

    /// Waits until it is in this phase; fails at once when it ends in another one.
    pub async fn until_phase(&self, wanted: Phase) -> CodingRun {
        self.until(&format!("{wanted:?}"), |status, _| {
            let ended = status.phase.is_some_and(Phase::is_an_end);
            let there = status.phase == Some(wanted);
            assert!(there || !ended, "run {} ended otherwise: {status:#?}", self.name);
            there
        })
        .await
    }

    /// Waits until it succeeded, and nothing is doubled.
    pub async fn until_succeeded(&self) -> CodingRun {
        let run = self.until_phase(Phase::Succeeded).await;
        self.assert_whole().await;
        run
    }

    /// Waits until it ended so, which the condition `Complete` says in one word.
    pub async fn until_ended(&self, phase: Phase, reason: &str) -> CodingRun {
        let run = self.until_phase(phase).await;
        let (status, found, message) = complete(&run);
        assert_eq!((status.as_str(), found.as_str()), ("False", reason), "{message}");
        assert!(!message.is_empty(), "a person reads why");
        assert_whole(&self.log().await);
        run
    }

    /// Every phase it goes through to its end, each change once, since this version.
    pub async fn phases(&self, since: &str) -> Vec<Phase> {
        let name = format!("metadata.name={}", self.name);
        let runs = self.world.objects::<CodingRun>();
        let parameters = WatchParams::default().fields(&name);
        let watched = async {
            let mut seen = Vec::new();
            let mut events = Box::pin(runs.watch(&parameters, since).await.unwrap());
            while let Some(event) = events.try_next().await.unwrap() {
                let (WatchEvent::Added(run) | WatchEvent::Modified(run)) = event else { continue };
                let phase = run.status.and_then(|status| status.phase);
                seen.extend(phase.filter(|phase| seen.last() != Some(phase)));
                if phase.is_some_and(Phase::is_an_end) {
                    break;
                }
            }
            seen
        };
        tokio::time::timeout(DEADLINE, watched).await.unwrap()
    }

    /// Waits until its agent is expired (LIFE-11) and its process gone.
    pub async fn until_expired(&self) {
        eventually(&format!("agent {} is expired", self.name), DEADLINE, || async {
            let agent = self.world.api.get_agent(&self.name).await;
            let agent = agent.map_err(|error| error.to_string())?;
            let ends = (agent.status, agent.desired_state);
            let mut left = self.world.stack.lock().await.harnesses().unwrap();
            left.retain(|harness| harness.agent == self.name);
            let wanted = (Status::Expired, DesiredState::Completed);
            if ends == wanted && left.is_empty() {
                Ok(())
            } else {
                Err(format!("{ends:?}, {left:?}"))
            }
        })
        .await;
    }

    /// Its process, once there is one.
    pub async fn harness(&self) -> Harness {
        self.world.harness_of(&self.name).await
    }

    /// Waits for the plan that a person is asked about.
    pub async fn plan_question(&self) -> QuestionView {
        self.until_phase(Phase::AwaitingApproval).await;
        let question = self.question().await;
        assert_eq!(question.kind, QuestionKind::Plan);
        question
    }

    /// Waits for a question.
    pub async fn question(&self) -> QuestionView {
        eventually(&format!("run {} asks", self.name), DEADLINE, || async {
            let open = self.world.api.list_questions(&self.name).await;
            let mut open = open.map_err(|error| error.to_string())?.items;
            if open.len() == 1 { Ok(open.remove(0)) } else { Err(format!("{open:?}")) }
        })
        .await
    }

    /// Reads the plan's digest and says `build`, as a person does.
    pub async fn approve(&self) -> Answer {
        let question = self.plan_question().await;
        self.world.api.answer(&self.name, &build(&question)).await.unwrap()
    }

    /// The model's requests in a phase, oldest first.
    pub fn requests(&self, part: Part) -> Vec<Captured> {
        let mut requests = self.world.model.requests();
        requests.retain(|request| {
            request.system().contains(part.heading())
                && request.messages().iter().any(|message| message.text.contains(&self.mark))
        });
        requests
    }

    /// What a tool answered in a phase, oldest first.
    pub fn results(&self, part: Part, tool: &str) -> Vec<String> {
        let requests = self.requests(part);
        let results = requests.iter().flat_map(Captured::tool_results);
        results.filter(|result| result.tool == tool).map(|result| result.content).collect()
    }

    /// The pull requests of its repository.
    pub fn pull_requests(&self) -> Vec<PullRequest> {
        self.world.github.pull_requests(&self.repository)
    }

    /// The head of its branch at the host.
    pub fn head(&self) -> Option<String> {
        self.bare.head(&self.branch()).unwrap()
    }

    /// Its agent's whole log.
    pub async fn log(&self) -> Vec<LogLine> {
        let mut lines = Vec::new();
        let mut after = 0;
        loop {
            let page = self.world.api.read_logs(&self.name, after, Some(500), None).await.unwrap();
            if page.items.is_empty() {
                return lines;
            }
            after = page.next_after;
            lines.extend(page.items);
        }
    }

    /// Its log lines of this kind.
    pub async fn log_of(&self, kind: &str) -> Vec<LogLine> {
        let mut lines = self.log().await;
        lines.retain(|line| line.event.kind == kind);
        lines
    }

    /// Its first log line of this kind, of a run that goes on: the log comes on a way of its
    /// own, and may come later than what the line tells of.
    pub async fn first_line_of(&self, kind: &str) -> LogLine {
        eventually(&format!("the log of {} has a {kind}", self.name), DEADLINE, || async {
            let lines = self.log_of(kind).await;
            lines.into_iter().next().ok_or_else(|| "it has none".to_owned())
        })
        .await
    }

    /// Runs `go test` on what is on its branch at the host; gives that checkout.
    pub fn assert_go_tests_pass(&self) -> PathBuf {
        let place = self.world.folder.join(format!("look at {}", self.name));
        let mut clone = Command::new("git");
        clone.args(["clone", "--quiet", "--branch", &self.branch()]);
        assert_success(clone.arg(self.bare.path()).arg(&place));
        Self::go_test(&place);
        place
    }

    /// Runs `go test` in this folder.
    pub fn go_test(folder: &Path) {
        let mut test = Command::new("go");
        test.args(["test", "./..."]).current_dir(folder);
        assert_success(test.envs([("GOPROXY", "off"), ("GOFLAGS", ""), ("GOTOOLCHAIN", "local")]));
    }

    /// One branch, one pull request, no unlawful request, no log line lost or doubled.
    pub async fn assert_whole(&self) {
        assert_whole(&self.log().await);
        let pull_requests = self.pull_requests();
        assert_eq!(pull_requests.len(), 1, "{pull_requests:?}");
        assert_eq!(Some(pull_requests[0].head_sha.clone()), self.head());
        let mut calls = self.world.github.requests();
        calls.retain(|call| call.path.contains(&self.repository));
        assert!(calls.iter().all(|call| call.authorised), "{calls:?}");
        calls.retain(|call| call.status == 201);
        assert_eq!(calls.len(), 1, "{calls:?}");
        let branches: Vec<_> = self.bare.refs().unwrap().into_keys().collect();
        assert_eq!(branches, [format!("refs/heads/{}", self.branch()), "refs/heads/main".into()]);
        for request in self.requests(Part::Planning).iter().chain(&self.requests(Part::Building)) {
            assert_eq!(request.violations, [""; 0]);
        }
    }
}

/// Puts the fields of the second object into the first.
fn merge(into: &mut Value, fields: &Value) {
    for (field, value) in fields.as_object().unwrap() {
        match &mut into[field] {
            there @ Value::Object(_) => merge(there, value),
            there => *there = value.clone(),
        }
    }
}

fn assert_success(command: &mut Command) {
    let output = command.output().unwrap();
    let words = [output.stdout, output.stderr].concat();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&words));
}

/// `build`, for the plan of this question.
pub fn build(question: &QuestionView) -> PostAnswer {
    PostAnswer {
        question_id: Some(question.id),
        text: "build".to_owned(),
        plan_sha256: question.plan_sha256.clone(),
    }
}

/// Status, reason and message of the condition `Complete`.
pub fn complete(run: &CodingRun) -> (String, String, String) {
    condition(run, "Complete").expect("the run has the condition Complete")
}

/// Status, reason and message of a condition.
pub fn condition(run: &CodingRun, kind: &str) -> Option<(String, String, String)> {
    let conditions = run.status.iter().flat_map(|status| &status.conditions);
    let mut found = conditions.filter(|condition| condition.type_ == kind).cloned();
    found.next().map(|one| (one.status, one.reason, one.message))
}

/// What the run's harness reported.
pub fn reported(run: &CodingRun) -> Reported {
    run.status.clone().and_then(|status| status.reported).unwrap_or_default()
}
