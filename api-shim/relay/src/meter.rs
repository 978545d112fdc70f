//! One usage record for each call, whoever ends it (BIND-04).

use std::time::Duration;

use foundry_crds::model::Prices;
use foundry_llm::{Usage, Wire};
use foundry_store::{AgentKey, Class, Store, row_id};
use jiff::Timestamp;
use tokio::runtime::Handle;
use tokio_util::task::{TaskTracker, task_tracker::TaskTrackerToken};

use crate::relay::Clock;
use crate::tap::Tap;

/// How long the end of an answer waits for its record, so that who reads to the end
/// finds the call counted. After it the record is written behind the answer.
const PATIENCE: Duration = Duration::from_secs(2);
/// Waits between tries to write a record.
const PAUSES: [Duration; 4] = [
    Duration::from_millis(200),
    Duration::from_secs(1),
    Duration::from_secs(5),
    Duration::from_secs(20),
];
/// Prices are per so many tokens.
const PRICED_TOKENS: i128 = 1_000_000;

/// How a call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// The provider said that this was all.
    Completed,
    /// The provider broke off, by an error event, a broken connection or silence; or
    /// this process ended.
    Interrupted,
    /// The caller went away.
    Disconnected,
    /// No answer within the limit.
    TimedOut,
}

impl Outcome {
    fn as_str(self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::Interrupted => "interrupted",
            Self::Disconnected => "disconnected",
            Self::TimedOut => "timed_out",
        }
    }
}

/// What is known of a call before it is answered.
pub(crate) struct Call {
    pub(crate) key: AgentKey,
    pub(crate) mailbox: Option<String>,
    pub(crate) request_id: String,
    pub(crate) model: String,
    pub(crate) upstream_model: String,
    pub(crate) wire: Wire,
    pub(crate) prices: Prices,
    pub(crate) request_bytes: usize,
    pub(crate) started_at: Timestamp,
}

/// Where records go.
#[derive(Clone)]
pub(crate) struct Book {
    pub(crate) store: Store,
    pub(crate) clock: Clock,
    /// Calls under way and records being written.
    pub(crate) open: TaskTracker,
}

/// Listens to one call and keeps its record. Dropped before [`Meter::settle`], it
/// records that the caller went away: the provider may have worked all the same.
pub(crate) struct Meter {
    call: Option<Call>,
    book: Book,
    runtime: Handle,
    status: u16,
    pub(crate) tap: Tap,
    /// Keeps the book open until the call's record is on its way.
    _open: TaskTrackerToken,
}

impl Meter {
    pub(crate) fn start(call: Call, book: Book) -> Self {
        let tap = Tap::new(call.wire, None);
        let open = book.open.token();
        Self { call: Some(call), book, runtime: Handle::current(), status: 0, tap, _open: open }
    }

    /// The provider answers.
    pub(crate) fn answered(&mut self, status: u16, content_type: Option<&str>) {
        self.status = status;
        if let Some(call) = &self.call {
            self.tap = Tap::new(call.wire, content_type);
        }
    }

    /// Nothing was used: the provider refused, or was never reached.
    pub(crate) fn forget(mut self) {
        self.call = None;
    }

    /// Keeps the record, and waits a little until it is written. Only the first call
    /// does anything.
    pub(crate) async fn settle(&mut self, outcome: Outcome) {
        if let Some(record) = self.record(outcome) {
            // A panic in the task has been reported by the runtime; a late record is
            // waited for at shutdown.
            drop(tokio::time::timeout(PATIENCE, record).await);
        }
    }

    fn record(&mut self, outcome: Outcome) -> Option<tokio::task::JoinHandle<()>> {
        let call = self.call.take()?;
        let finished_at = (self.book.clock)();
        let (key, usage) = usage(call, &self.tap, self.status, outcome, finished_at);
        let store = self.book.store.clone();
        Some(self.book.open.spawn_on(write(store, key, usage), &self.runtime))
    }
}

impl Drop for Meter {
    fn drop(&mut self) {
        // Written behind: nobody is left to wait for it.
        drop(self.record(Outcome::Disconnected));
    }
}

async fn write(store: Store, key: AgentKey, usage: foundry_store::Usage) {
    let mut pauses = PAUSES.iter();
    loop {
        let Err(error) = store.record_usage(&key, &usage).await else { break };
        let pause = pauses.next().filter(|_| error.class() == Class::Transient);
        let Some(pause) = pause else {
            tracing::error!(
                agent.namespace = key.namespace,
                agent.name = key.agent,
                request_id = usage.request_id,
                category = error.category(),
                ?usage,
                "usage of a model call was not recorded",
            );
            return;
        };
        tokio::time::sleep(*pause).await;
    }
    tracing::info!(
        agent.namespace = key.namespace,
        agent.name = key.agent,
        request_id = usage.request_id,
        model = usage.model,
        outcome = usage.outcome,
        input_tokens = usage.input_tokens,
        output_tokens = usage.output_tokens,
        cost_micros = usage.cost_micros,
        estimated = usage.estimated,
        "model call metered",
    );
}

fn usage(
    call: Call,
    tap: &Tap,
    status: u16,
    outcome: Outcome,
    finished_at: Timestamp,
) -> (AgentKey, foundry_store::Usage) {
    let Call {
        key,
        mailbox,
        request_id,
        model,
        upstream_model,
        wire,
        prices,
        request_bytes,
        started_at,
    } = call;
    let reading = tap.reading(request_bytes);
    let tokens = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
    let usage = foundry_store::Usage {
        id: row_id(finished_at),
        mailbox,
        request_id,
        model,
        upstream_model,
        wire: match wire {
            Wire::Anthropic => "anthropic".to_owned(),
            Wire::OpenAi => "openai".to_owned(),
        },
        status: status.into(),
        outcome: outcome.as_str().to_owned(),
        started_at,
        finished_at,
        input_tokens: tokens(reading.usage.input_tokens),
        output_tokens: tokens(reading.usage.output_tokens),
        cache_read_tokens: tokens(reading.usage.cache_read_tokens),
        cache_write_tokens: tokens(reading.usage.cache_write_tokens),
        cache_savings_micros: cache_savings(&prices, reading.usage),
        cost_micros: cost(&prices, reading.usage),
        estimated: reading.estimated,
    };
    (key, usage)
}

/// What tokens cost, in micros, rounded once and half up. Cache prices that are not
/// given are the input's.
fn cost(prices: &Prices, usage: Usage) -> i64 {
    let Prices { input, output, cache_read, cache_write } = prices;
    let of = |tokens: u64, price: i64| i128::from(tokens) * i128::from(price);
    micros(
        of(usage.input_tokens, *input)
            + of(usage.output_tokens, *output)
            + of(usage.cache_read_tokens, cache_read.unwrap_or(*input))
            + of(usage.cache_write_tokens, cache_write.unwrap_or(*input)),
    )
}

/// What the cache saved against reading the same tokens afresh (BIND-05).
fn cache_savings(prices: &Prices, usage: Usage) -> i64 {
    let saved = prices.input - prices.cache_read.unwrap_or(prices.input);
    micros(i128::from(usage.cache_read_tokens) * i128::from(saved.max(0)))
}

fn micros(micros_per_million: i128) -> i64 {
    let rounded = (micros_per_million + PRICED_TOKENS / 2).div_euclid(PRICED_TOKENS);
    i64::try_from(rounded).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn usage(input: u64, output: u64, cache_read: u64, cache_write: u64) -> Usage {
        Usage {
            input_tokens: input,
            output_tokens: output,
            cache_read_tokens: cache_read,
            cache_write_tokens: cache_write,
            reasoning_tokens: 0,
        }
    }

    /// BIND-05
    #[test]
    fn cost_and_savings_are_whole_micros_of_the_models_prices() {
        let prices = Prices {
            input: 3_000_000,
            output: 15_000_000,
            cache_read: Some(300_000),
            cache_write: Some(3_750_000),
        };
        let used = usage(100, 10, 1_000, 40);
        assert_eq!(cost(&prices, used), 300 + 150 + 300 + 150);
        assert_eq!(cache_savings(&prices, used), 2_700);

        let flat =
            Prices { input: 250_000, output: 2_000_000, cache_read: None, cache_write: None };
        assert_eq!(cost(&flat, usage(1, 0, 1, 0)), 1, "half a micro rounds up, once");
        assert_eq!(cache_savings(&flat, used), 0);
        assert_eq!(cost(&Prices::default(), used), 0);
        assert_eq!(cost(&prices, usage(u64::MAX, 0, 0, 0)), i64::MAX, "no overflow");
    }
}
