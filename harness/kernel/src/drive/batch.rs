//! Runs the calls of one reply: reads together, writes in order (KERN-11).

use std::any::Any;
use std::ops::Range;
use std::panic::AssertUnwindSafe;

use foundry_llm::Usage;
use futures::future::{BoxFuture, FutureExt};
use futures::stream::{FuturesUnordered, StreamExt};

use crate::entry::Settled;
use crate::host::{Control, Event, Host, Permission};
use crate::policy::interrupt::{self, Closing, Fate};
use crate::policy::permit::{self, Decision};
use crate::step::{Batch, Dispatch};
use crate::tool::{CallContext, Effect, Then, ToolError};

/// Reads that run at once; more wait for a free place.
const READS_AT_ONCE: usize = 8;

/// How every call of the batch ended, in its order, and what they used of models. After a
/// signal, finished calls keep their result, running ones are unknown, and the rest was
/// never started (KERN-26). After a call that ended the run, too, nothing more is started.
pub(super) async fn settle(
    batch: &Batch,
    host: &mut dyn Host,
    control: &Control,
) -> (Vec<Settled>, Usage) {
    // What a call starts beyond itself is over with the step, however that ends.
    let (of_step, _ends_with_the_step) = control.of_step();
    let mut work = Work {
        batch,
        host,
        control,
        of_step,
        fates: vec![Fate::NotStarted; batch.calls.len()],
        running: FuturesUnordered::new(),
        granted: vec![None; batch.calls.len()],
        usage: Usage::default(),
    };
    loop {
        if work.may_go_on() {
            work.start().await;
        }
        if work.running.is_empty() {
            break;
        }
        tokio::select! {
            biased; // a call that has ended keeps its result, whatever else happened
            Some((index, settled)) = work.running.next() => work.ended(index, settled).await,
            _ = control.signalled() => break,
        }
    }
    work.close().await
}

/// A batch at work.
struct Work<'a> {
    batch: &'a Batch,
    host: &'a mut dyn Host,
    control: &'a Control,
    /// Given to calls: aborted when the step is over.
    of_step: Control,
    fates: Vec<Fate>,
    running: FuturesUnordered<BoxFuture<'a, (usize, Settled)>>,
    /// Tokens that a running call may spend.
    granted: Vec<Option<u64>>,
    usage: Usage,
}

impl Work<'_> {
    fn may_go_on(&self) -> bool {
        self.control.pending().is_none() && !is_over(&self.batch.calls, &self.fates)
    }

    /// Starts what may start now: first what needs no leave, so that it runs while a
    /// person is asked for the rest. A call that is refused makes room for others.
    async fn start(&mut self) {
        loop {
            let startable = startable(&self.batch.calls, &self.fates);
            let (mut asks, mut free, mut refused) = (Vec::new(), Vec::new(), false);
            for index in startable {
                match self.decide(index) {
                    Decision::Allow => free.push(index),
                    Decision::Ask => asks.push(index),
                    Decision::Deny(why) => {
                        self.ended(index, Settled::not_run(why)).await;
                        refused = true;
                    }
                }
            }
            for index in free {
                self.begin(index).await;
            }
            for index in asks {
                match self.ask(index).await {
                    Some(Permission::Allowed) => self.begin(index).await,
                    Some(Permission::Denied(why)) => {
                        self.ended(index, Settled::not_run(why)).await;
                        refused = true;
                    }
                    None => return, // the ask is given up, and the step is over
                }
            }
            if !refused || !self.may_go_on() {
                return;
            }
        }
    }

    fn decide(&self, index: usize) -> Decision {
        let tool = &self.batch.calls[index].tool;
        let mode = self.control.mode().unwrap_or(self.batch.mode);
        permit::decide(mode, tool.effect, tool.guard)
    }

    /// Asks a person, while what runs goes on; nothing when a signal came first.
    async fn ask(&mut self, index: usize) -> Option<Permission> {
        let mut ended = Vec::new();
        let permission = {
            let mut ask = self.host.permit(&self.batch.calls[index]);
            loop {
                tokio::select! {
                    biased;
                    _ = self.control.signalled() => break None,
                    permission = &mut ask => break Some(permission),
                    Some(done) = self.running.next() => ended.push(done),
                }
            }
        };
        for (index, settled) in ended {
            self.ended(index, settled).await;
        }
        permission
    }

    async fn begin(&mut self, index: usize) {
        let call = &self.batch.calls[index];
        self.host.on_event(Event::ToolStarted { turn: self.batch.turn, call }).await;
        let tokens = self.share(index);
        self.fates[index] = Fate::Running;
        self.granted[index] = tokens.filter(|_| call.tool.executor.spends());
        let context = CallContext {
            call_id: call.call.id.clone(),
            control: self.of_step.of_call(),
            remaining_tokens: tokens,
        };
        self.running.push(execute(call, context).map(move |settled| (index, settled)).boxed());
    }

    /// What a call that begins now may spend: an equal share of what is left for each call
    /// of its group that spends tokens, so that together they cannot spend more than the
    /// run may. What spends nothing takes no share.
    fn share(&self, index: usize) -> Option<u64> {
        let Batch { calls, remaining_tokens, .. } = self.batch;
        let spends = |index: &usize| calls[*index].tool.executor.spends();
        let out = self.granted.iter().flatten().fold(0, |sum: u64, one| sum.saturating_add(*one));
        let left = (*remaining_tokens)?.saturating_sub(self.usage.total()).saturating_sub(out);
        if !spends(&index) {
            return Some(left);
        }
        let waiting = group(calls, &self.fates).filter(|at| self.fates[*at] == Fate::NotStarted);
        let shares = u64::try_from(waiting.filter(spends).count()).unwrap_or(u64::MAX);
        Some(left / shares.max(1))
    }

    async fn ended(&mut self, index: usize, settled: Settled) {
        let call = &self.batch.calls[index];
        self.granted[index] = None;
        self.usage.add(call.tool.executor.take_usage());
        tell_settled(self.batch.turn, call, &settled, self.host).await;
        self.fates[index] = Fate::Ended(settled);
    }

    /// Settles what was left open.
    async fn close(self) -> (Vec<Settled>, Usage) {
        let Self { batch, host, control: _, of_step, fates, running, granted: _, mut usage } = self;
        drop(running);
        of_step.abort();
        let is_over = is_over(&batch.calls, &fates);
        let why = if is_over { Closing::RunEnded } else { Closing::StepStopped };
        let mut settled = Vec::with_capacity(fates.len());
        for (call, fate) in batch.calls.iter().zip(fates) {
            let was_open = !matches!(fate, Fate::Ended(_));
            let closed = interrupt::closed(fate, why);
            if was_open {
                usage.add(call.tool.executor.take_usage());
                tell_settled(batch.turn, call, &closed, host).await;
            }
            settled.push(closed);
        }
        (settled, usage)
    }
}

/// Whether a call that succeeded has ended the run.
fn is_over(calls: &[Dispatch], fates: &[Fate]) -> bool {
    calls.iter().zip(fates).any(|(call, fate)| {
        call.tool.then == Then::EndRun && matches!(fate, Fate::Ended(Settled::Output { .. }))
    })
}

/// What may start now: all reads in a row, as far as places are free, or the one write
/// whose turn it is.
fn startable(calls: &[Dispatch], fates: &[Fate]) -> Vec<usize> {
    let group = group(calls, fates);
    let busy = fates[group.clone()].iter().filter(|fate| **fate == Fate::Running).count();
    let waiting = group.filter(|index| fates[*index] == Fate::NotStarted);
    waiting.take(READS_AT_ONCE.saturating_sub(busy)).collect()
}

/// The calls that may run beside each other now; none when all have ended.
fn group(calls: &[Dispatch], fates: &[Fate]) -> Range<usize> {
    let ended = fates.iter().take_while(|fate| matches!(fate, Fate::Ended(_))).count();
    let open = &calls[ended..];
    let reads = open.iter().take_while(|call| call.tool.effect == Effect::Read).count();
    ended..ended + reads.max(1).min(open.len())
}

/// Runs one call. A panic is the tool's own failure and nobody else's.
async fn execute(call: &Dispatch, context: CallContext) -> Settled {
    let work = async { call.tool.executor.execute_in(call.arguments.clone(), &context).await };
    match AssertUnwindSafe(work).catch_unwind().await {
        Ok(Ok(output)) => Settled::output(output),
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

async fn tell_settled(turn: u32, call: &Dispatch, settled: &Settled, host: &mut dyn Host) {
    let (call_id, name) = (&call.call.id, &call.call.name);
    host.on_event(Event::ToolSettled { turn, call_id, name, settled }).await;
}

#[cfg(test)]
mod tests;
