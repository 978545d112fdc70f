//! A persistent agent: each wake of its inbox is a task (CODE-28).

use std::time::Duration;

use async_trait::async_trait;
use foundry_client::{RunRecord, Wake};
use foundry_platform::events::kind as platform_kind;
use foundry_platform::inbox::{Handler, Inbox, woken_by};
use foundry_platform::text::instant;
use tokio::sync::watch;
use tokio::time::sleep;

use super::life::{Life, why_not};
use super::report::{Delivered, Reporter};
use super::work::Order;

/// How often the agent is read anew, to see whether it should be running.
const LOOK_EVERY: Duration = Duration::from_secs(15);

impl Life {
    /// Carries out one task after another until the process stops.
    pub(crate) async fn serve(&self) {
        let (active, watching) = watch::channel(false);
        let inbox = Inbox {
            api: self.api.clone(),
            log: self.log.clone(),
            runs: self.runs.clone(),
            active: watching,
        };
        let mut tasks = Tasks(self);
        let looking = self.stop.run_until_cancelled(self.keep_looking(active));
        tokio::join!(inbox.drain(&mut tasks, &self.stop), looking);
    }

    async fn keep_looking(&self, active: watch::Sender<bool>) {
        let mut told = None;
        loop {
            let resting = why_not(&self.agent().await);
            let words = match resting {
                _ if told == Some(resting) => None,
                Some(why) => Some(format!("takes no tasks: {why}")),
                // Of an agent that never rested nothing is said.
                None => told.map(|_| "takes tasks again".to_owned()),
            };
            if let Some(words) = words {
                self.log.info(platform_kind::REST, &words);
            }
            told = Some(resting);
            active.send_replace(resting.is_none());
            sleep(LOOK_EVERY).await;
        }
    }
}

struct Tasks<'a>(&'a Life);

#[async_trait]
impl Handler for Tasks<'_> {
    /// A wake is acknowledged when its task has ended; one that a stop cuts off is handed
    /// out again, and its task begins anew (CODE-34).
    async fn handle(&mut self, wake: &Wake) -> Option<RunRecord> {
        let Self(life) = self;
        let recorded_at = instant(wake.created_at);
        let told = format!("wake by {}, recorded at {recorded_at}", wake.source);
        life.log.info(platform_kind::WAKE, &told);
        let agent = life.stop.run_until_cancelled(life.agent()).await?;
        if let Some(why) = why_not(&agent) {
            // LIFE-17: what is known of it may be older than a person's stop.
            life.log.info(platform_kind::REST, &format!("leaves the wake in the inbox: {why}"));
            return None;
        }
        let id = wake.id.simple().to_string();
        let suffix = id.get(id.len() - 8..).unwrap_or_default();
        let order = Order {
            text: task_of(wake),
            slug: format!("{}-{suffix}", agent.slug),
            instructions: Some(agent.instructions.clone()),
        };
        let mut reporter = Reporter::new(life.api.clone(), life.log.clone(), life.start_number);
        let worked = life.work(&agent, order, &mut reporter).await;
        let result = worked.tell(&life.log)?;
        if reporter.end(&worked.progress, &result, &life.stop).await == Delivered::Lost {
            life.log.error("the result was not brought to the api; it is in this log");
        }
        Some(worked.record(Some(wake.id), &result, life.clock.now()))
    }
}

/// What was said, where something was; else what the wake is about.
fn task_of(wake: &Wake) -> String {
    match wake.text.as_deref().map(str::trim).filter(|text| !text.is_empty()) {
        Some(text) => text.to_owned(),
        None => woken_by(wake),
    }
}
