//! Runs the calls of one reply: reads together, writes in order (KERN-11).

use std::any::Any;
use std::panic::AssertUnwindSafe;

use futures::future::FutureExt;
use futures::stream::{FuturesUnordered, StreamExt};

use crate::entry::Settled;
use crate::host::{Control, Event, Host};
use crate::step::{Batch, Dispatch};
use crate::tool::{Effect, Then, ToolError};

/// Reads that run at once; more wait for a free place.
const READS_AT_ONCE: usize = 8;

/// How every call of the batch ended, in its order. After a signal, finished calls keep
/// their result, running ones are unknown, and the rest was never started (KERN-26).
/// After a call that ended the run, too, nothing more is started.
pub(super) async fn settle(batch: &Batch, host: &mut dyn Host, control: &Control) -> Vec<Settled> {
    let Batch { turn, calls } = batch;
    let mut fates = vec![Fate::NotStarted; calls.len()];
    let mut running = FuturesUnordered::new();
    loop {
        if control.pending().is_none() && !is_over(calls, &fates) {
            for index in startable(calls, &fates) {
                let call = &calls[index];
                host.on_event(Event::ToolStarted { turn: *turn, call }).await;
                fates[index] = Fate::Running;
                running.push(execute(call).map(move |settled| (index, settled)).boxed());
            }
        }
        if running.is_empty() {
            break;
        }
        tokio::select! {
            biased; // a call that has ended keeps its result, whatever else happened
            Some((index, settled)) = running.next() => {
                tell_settled(*turn, &calls[index], &settled, host).await;
                fates[index] = Fate::Ended(settled);
            }
            _ = control.signalled() => break,
        }
    }
    drop(running);
    let why = if is_over(calls, &fates) { RUN_ENDED } else { STEP_STOPPED };
    close(batch, fates, why, host).await
}

/// Why calls were not started.
const STEP_STOPPED: &str = "the step was stopped before this call began";
const RUN_ENDED: &str = "the call before it ended the run";

/// Whether a call that succeeded has ended the run.
fn is_over(calls: &[Dispatch], fates: &[Fate]) -> bool {
    calls.iter().zip(fates).any(|(call, fate)| {
        call.tool.then == Then::EndRun && matches!(fate, Fate::Ended(Settled::Output { .. }))
    })
}

/// Where a call of the batch stands.
#[derive(Clone, Debug, PartialEq)]
enum Fate {
    NotStarted,
    Running,
    Ended(Settled),
}

/// What may start now: all reads in a row, as far as places are free, or the one write
/// whose turn it is.
fn startable(calls: &[Dispatch], fates: &[Fate]) -> Vec<usize> {
    let Some(first) = fates.iter().position(|fate| !matches!(fate, Fate::Ended(_))) else {
        return Vec::new();
    };
    let reads = calls[first..].iter().take_while(|call| call.tool.effect == Effect::Read).count();
    let group = first..first + reads.max(1);
    let busy = fates[group.clone()].iter().filter(|fate| **fate == Fate::Running).count();
    let waiting = group.filter(|index| fates[*index] == Fate::NotStarted);
    waiting.take(READS_AT_ONCE.saturating_sub(busy)).collect()
}

/// Runs one call. A panic is the tool's own failure and nobody else's.
async fn execute(call: &Dispatch) -> Settled {
    let work = async { call.tool.executor.execute(call.arguments.clone()).await };
    match AssertUnwindSafe(work).catch_unwind().await {
        Ok(Ok(content)) => Settled::output(content),
        Ok(Err(ToolError::Failed(message))) => Settled::failed(message),
        Ok(Err(ToolError::Unknown(reason))) => Settled::unknown(reason),
        Err(panic) => {
            let tool = &call.call.name;
            Settled::failed(format!("the tool {tool} broke: {}", panic_message(panic.as_ref())))
        }
    }
}

fn panic_message(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("it gave no reason")
}

/// Settles what was left open.
async fn close(
    batch: &Batch,
    fates: Vec<Fate>,
    not_started: &str,
    host: &mut dyn Host,
) -> Vec<Settled> {
    let mut settled = Vec::with_capacity(fates.len());
    for (call, fate) in batch.calls.iter().zip(fates) {
        let left_open = match fate {
            Fate::Ended(known) => {
                settled.push(known);
                continue;
            }
            Fate::Running => Settled::unknown("the step was stopped while this call was running"),
            Fate::NotStarted => Settled::not_run(not_started),
        };
        tell_settled(batch.turn, call, &left_open, host).await;
        settled.push(left_open);
    }
    settled
}

async fn tell_settled(turn: u32, call: &Dispatch, settled: &Settled, host: &mut dyn Host) {
    let (call_id, name) = (&call.call.id, &call.call.name);
    host.on_event(Event::ToolSettled { turn, call_id, name, settled }).await;
}

#[cfg(test)]
mod tests;
