//! The scenes of the run, each with its claims.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use foundry_client::wire::{CodingRunView, LogLine, PostAnswer, QuestionView, Status, UsageTotals};
use foundry_client::{Client, StaticToken};
use serde_json::Value;
use testenv::stack::Stack;
use testenv::within;

use super::super::cluster::{Cluster, PERSON};
use super::super::folder::DataFolder;
use super::super::story::log;
use super::example::RUN;
use super::outcome::sha256;
use super::repository::{MAIN, NAME, Repository};
use super::rows::Rows;
use crate::printer::say;

/// A phase of the run, its repository's own commands included.
const PATIENCE: Duration = Duration::from_mins(5);

/// How often rows are looked for.
const PAUSE: Duration = Duration::from_millis(50);

/// The plan that a person reads.
pub(super) struct Plan {
    /// Its text.
    pub text: String,
    /// The question it comes with.
    question: QuestionView,
    /// Its digest, as the run's status has it.
    pub sha256: String,
}

/// The stage.
pub(super) struct Scenes<'a> {
    cluster: &'a Cluster,
    stack: &'a Stack,
    api: Client,
    http: reqwest::Client,
    repository: Repository,
}

impl<'a> Scenes<'a> {
    /// Lays the repository; nothing has happened yet.
    pub async fn begin(
        cluster: &'a Cluster,
        stack: &'a Stack,
        folder: &DataFolder,
    ) -> Result<Self> {
        let token = stack.token(PERSON, &["member"]).await?;
        let api = Client::new(&stack.api_url(), Arc::new(StaticToken::new(token)))?;
        let http = reqwest::Client::builder().no_proxy().timeout(Duration::from_secs(10));
        let http = http.build().context("failed to build an HTTP client")?;
        let repository = Repository::lay(stack, folder)?;
        Ok(Self { cluster, stack, api, http, repository })
    }

    pub async fn its_tests_fail(&self) -> Result<()> {
        let commit = self.repository.bare().head(MAIN)?.context("the repository has no main")?;
        say(&format!(
            "\nA repository, laid anew from examples/coding/repository:\n  {} at {}",
            self.repository.remote(),
            commit.get(..12).unwrap_or(&commit)
        ));
        let clone = self.repository.clone_of(MAIN).await?;
        let passed = self.repository.test(&clone).await?;
        ensure!(!passed, "its tests should fail, and they pass");
        say("\nIts tests fail. A coding run shall mend it:");
        Ok(())
    }

    /// What `kubectl get codingruns --watch` shows.
    pub fn watch(&self) -> Result<Rows> {
        let output = self.stack.logs().join("kubectl get codingruns.log");
        Rows::watch(&self.cluster.person, output)
    }

    pub async fn it_plans(&self, rows: &mut Rows) -> Result<Plan> {
        let (run, question) = self
            .until("it asks a person to approve its plan", rows, |run| {
                let question = run.question.clone()?;
                (run.phase.as_deref() == Some("AwaitingApproval")).then_some((run, question))
            })
            .await?;
        let plan = run.plan.context("it asks for approval, and names no plan")?;
        let link = self.api.plan_link(RUN, &plan.document_id).await?;
        let text = self.get(&link.url).await?;
        let digests = [&plan.sha256, question.plan_sha256.as_ref().unwrap_or(&plan.sha256)];
        let true_digest = sha256(&text);
        for digest in digests {
            ensure!(*digest == true_digest, "the plan's digest is {true_digest}, not {digest}");
        }
        say(&format!(
            "\nIts plan (GET /v1/agents/{RUN}/plans/{}), sha256 {true_digest}:\n",
            plan.document_id
        ));
        text.lines().for_each(|line| say(format!("  {line}").trim_end()));
        Ok(Plan { text, question, sha256: true_digest })
    }

    /// The command of docs/coding-runs.md, with this plan's digest. Gives how long it
    /// took.
    pub async fn a_person_approves_the_plan(&self, plan: &Plan) -> Result<Duration> {
        let started = Instant::now();
        let other = PostAnswer {
            question_id: Some(plan.question.id),
            text: "build".to_owned(),
            plan_sha256: Some(sha256("another plan")),
        };
        match self.api.answer(RUN, &other).await {
            Ok(_) => bail!("the digest of another plan was taken"),
            Err(error) => ensure!(error.status() == Some(409), "{error}"),
        }
        let answer = PostAnswer { plan_sha256: Some(plan.sha256.clone()), ..other };
        say(&format!(
            "\n{PERSON} has read it and says yes, to this text and no other \
             (another digest answers 409):\n\n\
             $ curl -s {}/v1/agents/{RUN}/answer -H \"authorization: Bearer $token\" \\\n    \
             -H 'content-type: application/json' \\\n    \
             -d '{{\"text\":\"build\",\"plan_sha256\":\"{}\"}}'",
            self.stack.api_url(),
            plan.sha256
        ));
        let given = self.api.answer(RUN, &answer).await?;
        say(&serde_json::to_string(&given).context("the answer is strange")?);
        ensure!(given.answered_by == PERSON, "answered by {}", given.answered_by);
        Ok(started.elapsed())
    }

    pub async fn it_builds(&self, rows: &mut Rows) -> Result<()> {
        say("");
        let run = self
            .until("it ends well", rows, |run| {
                (run.phase.as_deref() == Some("Succeeded")).then_some(run)
            })
            .await?;
        let approved_by = run.plan.and_then(|plan| plan.approved_by);
        ensure!(approved_by.as_deref() == Some(PERSON), "approved by {approved_by:?}");
        let object = format!("codingrun/{RUN}");
        self.cluster.person.show(&["wait", "--for=condition=Complete", &object]).await
    }

    pub async fn its_log_says_how(&self) -> Result<()> {
        say(&format!("\nIts log (GET /v1/agents/{RUN}/logs):"));
        self.log().await?.iter().for_each(log::show_beginning);
        Ok(())
    }

    /// Gives what it changed.
    pub async fn its_change_is_small(&self) -> Result<String> {
        let branch = self.run().await?.branch.context("it names no branch")?;
        let diff = self.repository.bare().diff(MAIN, &branch)?;
        say(&format!("\n$ git diff {MAIN} {branch}"));
        diff.lines().for_each(say);
        let files: Vec<_> = diff.lines().filter(|line| line.starts_with("+++ ")).collect();
        ensure!(files == ["+++ b/greeting.go"], "it changed {files:?}");

        let agent = self.api.get_agent(RUN).await?;
        let mailbox = agent.mailbox.context("its agent has no mailbox")?;
        let newest = self.repository.bare().log(&branch)?.into_iter().next();
        let commit = newest.context("its branch has no commit")?;
        say(&format!(
            "\nCommitted by {} <{}>: {}",
            commit.author_name,
            commit.author_email,
            commit.message.lines().next().unwrap_or_default()
        ));
        ensure!(commit.author_email == mailbox, "its mailbox is {mailbox}");
        Ok(diff)
    }

    /// Gives its text.
    pub async fn its_pull_request_says_why(&self) -> Result<String> {
        let run = self.run().await?;
        let opened = run.pull_request.context("it names no pull request")?;
        let record = self.pull_request()?;
        let field = |name: &str| record[name].as_str().unwrap_or_default();
        let branch = run.branch.unwrap_or_default();
        let head = self.repository.bare().head(&branch)?.unwrap_or_default();
        ensure!(
            record["repository"] == NAME
                && record["number"] == opened.number
                && field("html_url") == opened.url
                && field("head") == branch
                && field("head_sha") == head
                && field("base") == MAIN,
            "the pull request is another one: {record}"
        );
        let (title, body) = (field("title"), field("body"));
        let mailbox = self.api.get_agent(RUN).await?.mailbox.unwrap_or_default();
        ensure!(
            body.starts_with("## Agent") && body.contains(&mailbox),
            "the text does not begin with the agent and its mailbox: {body}"
        );
        say(&format!("\nPull request {} ({branch} into {MAIN}): {title}\n", opened.url));
        body.lines().for_each(|line| say(format!("  {line}").trim_end()));
        Ok(format!("{title}\n\n{body}"))
    }

    pub async fn its_tests_pass(&self) -> Result<()> {
        let run = self.run().await?;
        let branch = run.branch.context("it names no branch")?;
        let clone = self.repository.clone_of(&branch).await?;
        say(&format!("\nIn a new clone of {branch}:"));
        let passed = self.repository.test(&clone).await?;
        ensure!(passed, "the tests of {branch} should pass, and they fail");
        ensure!(!run.checks.is_empty(), "it names no check");
        for check in &run.checks {
            say(&format!("{}: {}", check.name, if check.passed { "passed" } else { "failed" }));
            ensure!(check.passed, "{} failed, and it ended well", check.name);
        }
        Ok(())
    }

    pub async fn its_agent_has_ended(&self) -> Result<()> {
        within("its agent is expired and its process gone", PATIENCE, || async {
            let agent = self.api.get_agent(RUN).await?;
            ensure!(agent.status == Status::Expired, "{:?}", agent.status);
            let harnesses = self.stack.harnesses()?;
            ensure!(harnesses.iter().all(|harness| harness.agent != RUN), "{harnesses:?}");
            Ok(())
        })
        .await?;
        say(&format!("\nAgent {RUN} is expired, and no process of it is left."));
        Ok(())
    }

    /// Tokens, turns, cost and times, since the run was applied.
    pub async fn what_it_took(&self, applied: u128, approval: Duration) -> Result<()> {
        let run = self.run().await?;
        let UsageTotals { calls, input_tokens, output_tokens, cost_micros, .. } = run.usage;
        ensure!(calls > 0 && output_tokens > 0 && run.turns > 0, "{:?}", run.usage);
        say(&format!(
            "{} turns, {calls} model calls, {input_tokens} tokens in, {output_tokens} out, \
             {cost_micros} millionths of a dollar",
            run.turns
        ));
        let asked = self.first_model_request(applied)?;
        let opened = at(&self.pull_request()?).context("the pull request has no time")?;
        let commands: u64 = self.log().await?.iter().filter_map(own_command).sum();
        say(&format!(
            "From kubectl apply {} to its first model request, {} to its pull request; \
             the repository's own commands took {} of that, the approval {}.",
            seconds(asked.saturating_sub(applied)),
            seconds(opened.saturating_sub(applied)),
            seconds(u128::from(commands) * 1000),
            seconds(approval.as_micros()),
        ));
        Ok(())
    }

    /// In a checkout, without cluster and API: the same change.
    pub async fn flowcode_does_the_same(&self, diff: &str) -> Result<()> {
        say("\nThe same in a checkout of one's own, without cluster and API:");
        let task = self.run().await?.task;
        let same = self.repository.flowcode(&task, &self.stack.model_url()).await?;
        ensure!(same == diff, "flowcode made another change: {same}");
        say("It made the same change.");
        Ok(())
    }

    async fn run(&self) -> Result<CodingRunView> {
        Ok(self.api.get_coding_run(RUN).await?)
    }

    /// Waits until the run is as wished, its rows shown meanwhile; one that ended
    /// otherwise is waited for no longer.
    async fn until<T>(
        &self,
        what: &str,
        rows: &mut Rows,
        wished: impl Fn(CodingRunView) -> Option<T>,
    ) -> Result<T> {
        let started = Instant::now();
        loop {
            rows.show_new()?;
            let run = self.run().await?;
            let spelt = spell(&run);
            let ended = matches!(run.phase.as_deref(), Some("Failed" | "Unfinished"));
            if let Some(found) = wished(run) {
                // The row of this moment may be on its way.
                tokio::time::sleep(PAUSE * 4).await;
                rows.show_new()?;
                return Ok(found);
            }
            ensure!(!ended, "the run ended: {spelt}");
            ensure!(started.elapsed() < PATIENCE, "{what}: not within {PATIENCE:?}; {spelt}");
            tokio::time::sleep(PAUSE).await;
        }
    }

    async fn log(&self) -> Result<Vec<LogLine>> {
        let (mut lines, mut after) = (Vec::new(), 0);
        loop {
            let page = self.api.read_logs(RUN, after, Some(500), None).await?;
            if page.items.is_empty() {
                return Ok(lines);
            }
            after = page.next_after;
            lines.extend(page.items);
        }
    }

    /// The one pull request, as the stand-in for GitHub has it.
    fn pull_request(&self) -> Result<Value> {
        let records = self.stack.pull_requests()?;
        match records.as_slice() {
            [one] => Ok(one.clone()),
            other => bail!("one pull request should have been opened: {other:?}"),
        }
    }

    /// When the run first asked its model.
    fn first_model_request(&self, applied: u128) -> Result<u128> {
        let requests = std::fs::read_to_string(self.stack.capture())?;
        let requests = requests.lines().filter_map(|line| serde_json::from_str(line).ok());
        let of_the_run = requests.filter(|request: &Value| plans(&request["body"]));
        let times = of_the_run.filter_map(|request| at(&request));
        times.filter(|at| *at > applied).min().context("it never asked its model")
    }

    /// A signed URL needs no token.
    async fn get(&self, url: &str) -> Result<String> {
        let answer = self.http.get(url).send().await.with_context(|| format!("GET {url}"))?;
        let answer = answer.error_for_status().context("the plan cannot be read")?;
        answer.text().await.context("the plan cannot be read")
    }
}

/// Whether a model request is one of a coding run's planning: only there a plan can be
/// saved.
fn plans(body: &Value) -> bool {
    body["tools"].as_array().into_iter().flatten().any(|tool| {
        tool["function"]["name"] == "save_coding_plan" || tool["name"] == "save_coding_plan"
    })
}

/// When something happened, as the stand-ins say it.
fn at(record: &Value) -> Option<u128> {
    record["at"].as_u64().map(u128::from)
}

/// Milliseconds that a command of the repository took, when this line is about one.
fn own_command(line: &LogLine) -> Option<u64> {
    let data = (line.event.kind == "command").then_some(line.event.data.as_ref()?)?;
    data["duration_ms"].as_u64()
}

fn seconds(micros: u128) -> String {
    format!("{}.{:02}s", micros / 1_000_000, micros / 10_000 % 100)
}

fn spell(run: &CodingRunView) -> String {
    let word = |word: &Option<String>| word.clone().unwrap_or_default();
    let (phase, reason) = (word(&run.phase), word(&run.reason));
    let summary = run.result.as_ref().map(|result| result.summary.clone()).unwrap_or_default();
    format!("{phase} {reason} {} {summary}", word(&run.message)).trim().to_owned()
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use serde_json::json;

    use super::*;

    #[test]
    fn a_request_of_a_coding_run_is_told_by_the_tool_that_saves_plans() {
        let openai = json!({"tools": [{"type": "function", "function": {"name": "grep"}},
            {"type": "function", "function": {"name": "save_coding_plan"}}]});
        let anthropic = json!({"tools": [{"name": "save_coding_plan"}]});
        let other = json!({"tools": [{"name": "recall"}]});
        assert_eq!(
            [openai, anthropic, other, json!({})].map(|body| plans(&body)),
            [true, true, false, false]
        );
    }

    #[test]
    fn times_are_told_to_the_hundredth() {
        assert_eq!(seconds(12_345_678), "12.34s");
        assert_eq!(seconds(5_000), "0.00s");
    }
}
