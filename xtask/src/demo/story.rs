//! What the agent does, looked at as a person would, every claim checked.

pub(super) mod log;

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Result, bail, ensure};
use foundry_client::wire::{AgentState, AgentView, UsageTotals};
use foundry_client::{Client, StaticToken};
use testenv::stack::Stack;
use testenv::within;

use super::cluster::{Cluster, PERSON};
use crate::printer::say;
use log::Log;

/// The agent of the quickstart.
pub(super) const AGENT: &str = "scout";

/// Two evaluations are at most thirty seconds apart; the rest is a slow machine.
const PATIENCE: Duration = Duration::from_mins(2);

/// The story, at its beginning: the API answers, the agent does not live yet.
pub(super) struct Story {
    api: Client,
    log: Log,
}

impl Story {
    /// Begins where the agent's log ends now.
    pub async fn begin(stack: &Stack) -> Result<Self> {
        let token = stack.token(PERSON, &["member"]).await?;
        let api = Client::new(&stack.api_url(), Arc::new(StaticToken::new(token)))?;
        let log = Log::at_its_end(api.clone()).await?;
        Ok(Self { api, log })
    }

    /// Tells it all.
    pub async fn tell(self, cluster: &Cluster, stack: &Stack) -> Result<()> {
        let Self { api, mut log } = self;
        let scenes = Scenes { cluster, stack, api };
        scenes.it_comes_to_life().await?;
        scenes.it_remembers_and_recalls(&mut log).await?;
        scenes.its_calls_are_counted().await?;
        scenes.an_edit_is_a_new_start_of_the_same_process().await?;
        scenes.stop_start_and_restart_do_what_they_say().await?;
        cluster.person.show(&["get", "agents", "-o", "wide"]).await
    }
}

struct Scenes<'a> {
    cluster: &'a Cluster,
    stack: &'a Stack,
    api: Client,
}

impl Scenes<'_> {
    async fn it_comes_to_life(&self) -> Result<()> {
        say("\n$ kubectl get agents --watch");
        let mut table = String::new();
        let alive = self.until("the agent runs and its heart beats", |agent| {
            ensure!(agent.state == AgentState::Running, "{}", spell(&agent));
            ensure!(agent.last_heartbeat.is_some(), "no heartbeat yet");
            self.process().map(|_| agent)
        });
        tokio::pin!(alive);
        let agent = loop {
            tokio::select! {
                agent = &mut alive => break agent?,
                rows = self.rows_in_a_moment() => {
                    let rows = rows?;
                    show_changes(&table, &rows);
                    table = rows;
                }
            }
        };
        show_changes(&table, &self.rows().await?);
        let process = self.process()?;
        say(&format!(
            "\n{} lives: start {}, process {process}, a heartbeat{}",
            agent.name,
            agent.generation,
            agent.last_heartbeat.map(|at| format!(" at {}", log::clock(at))).unwrap_or_default(),
        ));
        Ok(())
    }

    async fn it_remembers_and_recalls(&self, log: &mut Log) -> Result<()> {
        say("\nIts log, as the API gives it (GET /v1/agents/scout/logs):");
        log.follow_until("it recalls what it remembers", PATIENCE, |line| {
            line.says("recall returned")
        })
        .await?;
        let memories = self.api.list_memories(AGENT, None, Some(20), None).await?.items;
        ensure!(!memories.is_empty(), "the agent recalled, but has no memory");
        say("\nIts memories (GET /v1/agents/scout/memories):");
        for memory in &memories {
            say(&format!("  {}  {}", log::clock(memory.created_at), memory.text));
        }
        Ok(())
    }

    async fn its_calls_are_counted(&self) -> Result<()> {
        let usage = within("the relay has metered its calls", PATIENCE, || async {
            let usage = self.api.usage(AGENT).await?;
            ensure!(usage.calls > 1 && usage.output_tokens > 0, "{usage:?}");
            Ok(usage)
        })
        .await?;
        let runs = within("it records its runs", PATIENCE, || async {
            let runs = self.api.list_runs(AGENT, Some(50), None).await?.items;
            ensure!(!runs.is_empty(), "no runs yet");
            Ok(runs)
        })
        .await?;
        let turns: u32 = runs.iter().map(|run| run.turns).sum();
        let UsageTotals { calls, input_tokens, output_tokens, cost_micros, .. } = usage;
        say(&format!(
            "\n{calls} model calls, {input_tokens} tokens in, {output_tokens} out, \
             {cost_micros} millionths of a dollar; {turns} turns in its last {} runs",
            runs.len()
        ));
        Ok(())
    }

    async fn an_edit_is_a_new_start_of_the_same_process(&self) -> Result<()> {
        let (before, process) = (self.agent().await?, self.process()?);
        let sentence = format!("From start {} on, greet ann first.", before.generation + 1);
        let instructions = format!("{}\n{sentence}\n", before.instructions.trim_end());
        let patch = serde_json::json!({"spec": {"instructions": instructions}}).to_string();
        let kubectl = &self.cluster.person;
        kubectl.show(&["patch", "agent", AGENT, "--type=merge", "--patch", &patch]).await?;
        let after = self
            .until("the edit shows as a new start", |agent| {
                ensure!(agent.generation > before.generation, "start {}", agent.generation);
                Ok(agent)
            })
            .await?;
        ensure!(
            after.generation == before.generation + 1
                && after.process_generation == before.process_generation,
            "the edit made start {} of process {}, from {} of {}",
            after.generation,
            after.process_generation,
            before.generation,
            before.process_generation
        );
        within("the model is asked by the new instructions", PATIENCE, || async {
            let requests = std::fs::read_to_string(self.stack.capture())?;
            ensure!(requests.contains(&sentence), "no request says: {sentence}");
            Ok(())
        })
        .await?;
        ensure!(self.process()? == process, "the edit replaced process {process}");
        say(&format!("\nThe edit is start {}; process {process} goes on.", after.generation));
        Ok(())
    }

    async fn stop_start_and_restart_do_what_they_say(&self) -> Result<()> {
        say("\nPOST /v1/agents/scout/stop");
        self.api.stop_agent(AGENT).await?;
        self.until("it stops", |agent| in_state(agent, AgentState::Stopped)).await?;
        within("its process ends", PATIENCE, || async { self.no_process() }).await?;
        say("  no process is left");

        say("POST /v1/agents/scout/start");
        self.api.start_agent(AGENT).await?;
        let started = self.until("it starts", |agent| in_state(agent, AgentState::Running)).await?;
        let process = self.process()?;
        say(&format!("  start {}, process {process}", started.generation));

        say("POST /v1/agents/scout/restart");
        self.api.restart_agent(AGENT).await?;
        let restarted = self
            .until("it restarts", |agent| {
                ensure!(
                    agent.process_generation > started.process_generation,
                    "process of start {}",
                    agent.process_generation
                );
                in_state(agent, AgentState::Running)
            })
            .await?;
        let next = self.process()?;
        ensure!(next != process, "the restart kept process {process}");
        ensure!(
            restarted.generation == started.generation + 1,
            "the restart is start {}, after {}",
            restarted.generation,
            started.generation
        );
        say(&format!("  start {}, process {next}", restarted.generation));
        self.thinks_again("the new process thinks").await
    }

    /// Waits for one more run than there are now.
    async fn thinks_again(&self, what: &str) -> Result<()> {
        let newest = async || {
            let runs = self.api.list_runs(AGENT, Some(1), None).await?;
            anyhow::Ok(runs.items.into_iter().next().map(|run| run.id))
        };
        let before = newest().await?;
        within(what, PATIENCE, || async {
            let now = newest().await?;
            ensure!(now != before, "no run since");
            Ok(())
        })
        .await
    }

    async fn agent(&self) -> Result<AgentView> {
        Ok(self.api.get_agent(AGENT).await?)
    }

    async fn until<T>(&self, what: &str, check: impl Fn(AgentView) -> Result<T>) -> Result<T> {
        within(what, PATIENCE, || async { check(self.agent().await?) }).await
    }

    /// The agent's one process.
    fn process(&self) -> Result<u32> {
        let harnesses = self.stack.harnesses()?;
        match harnesses.as_slice() {
            [one] => Ok(one.pid),
            other => bail!("one harness should live, not {other:?}"),
        }
    }

    fn no_process(&self) -> Result<()> {
        let harnesses = self.stack.harnesses()?;
        ensure!(harnesses.is_empty(), "{harnesses:?}");
        Ok(())
    }

    async fn rows_in_a_moment(&self) -> Result<String> {
        tokio::time::sleep(Duration::from_millis(400)).await;
        self.rows().await
    }

    async fn rows(&self) -> Result<String> {
        self.cluster.person.run(&["get", "agents"]).await
    }
}

/// Prints the rows that differ from those shown before.
fn show_changes(before: &str, now: &str) {
    let ageless = |row: &str| row.rsplit_once(' ').map(|(rest, _)| rest.trim_end().to_owned());
    let known: Vec<_> = before.lines().map(ageless).collect();
    for row in now.lines().filter(|row| !known.contains(&ageless(row))) {
        say(row);
    }
}

fn in_state(agent: AgentView, state: AgentState) -> Result<AgentView> {
    ensure!(agent.state == state, "{}", spell(&agent));
    Ok(agent)
}

fn spell(agent: &AgentView) -> String {
    let reason = agent.reason.as_deref().unwrap_or_default();
    let message = agent.message.as_deref().unwrap_or_default();
    format!("{:?} {reason} {message}", agent.state).trim_end().to_owned()
}
