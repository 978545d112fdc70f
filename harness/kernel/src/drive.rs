//! The only loop: does what a run asks for, until it is done.

mod batch;
#[cfg(test)]
mod tests;

use foundry_llm::{LlmError, Reply, StopReason};

use crate::entry::Entry;
use crate::host::{Control, Event, Host};
use crate::outcome::Outcome;
use crate::policy::interrupt::Signal;
use crate::run::Run;
use crate::step::{Batch, ModelCall, Step};

/// Drives a run to its end. The host's [`Control`] steers, interrupts and aborts it.
pub async fn drive(run: &mut Run, host: &mut dyn Host) -> Outcome {
    let control = host.control();
    loop {
        obey(run, &control);
        let step = run.step(host.now());
        tell(run, host, None).await;
        match step {
            Step::Done(outcome) => return outcome,
            Step::CallModel(call) => {
                if let Some(answer) = ask(&call, host, &control).await {
                    take_input(run, &control);
                    run.replied(answer);
                }
                tell(run, host, None).await;
            }
            Step::CallTools(batch) => {
                let (settled, usage) = batch::settle(&batch, host, &control).await;
                run.spent(usage);
                take_input(run, &control);
                run.ran(settled);
                tell(run, host, Some(&batch)).await;
            }
        }
    }
}

/// Hands the run what others asked of it since the last step. An interrupt goes on with
/// what was queued before it (KERN-27): it is looked for first and obeyed last.
fn obey(run: &mut Run, control: &Control) {
    let interrupted = control.take_interrupt();
    take_input(run, control);
    if let Some(mode) = control.mode() {
        run.set_mode(mode);
    }
    if interrupted {
        run.interrupt();
    }
    if control.pending() == Some(Signal::Abort) {
        run.abort();
    }
}

/// Input that came during a step is there before the step is judged: it may lead out of a
/// circle.
fn take_input(run: &mut Run, control: &Control) {
    for input in control.take_queued() {
        run.steer(input);
    }
}

/// Asks the model, after the wait of a retry; nothing when a signal came first, and then
/// the call in flight is dropped (KERN-25). The call's future is gone when this returns:
/// what it holds, a stream or a place among few, is free before any tool begins.
async fn ask(
    call: &ModelCall,
    host: &mut dyn Host,
    control: &Control,
) -> Option<Result<Reply, LlmError>> {
    if let (Some(until), Some(error)) = (call.not_before, &call.after) {
        host.on_event(Event::Retry { attempt: call.attempt, until, error }).await;
    }
    let wait = async {
        match call.not_before {
            Some(at) if at > host.now() => host.wait_until(at).await,
            Some(_) | None => {}
        }
    };
    unless_signalled(control, wait).await?;
    host.on_event(Event::Calling(call)).await;
    unless_signalled(control, host.call_model(call)).await
}

async fn unless_signalled<T>(control: &Control, work: impl Future<Output = T>) -> Option<T> {
    tokio::select! {
        biased;
        _ = control.signalled() => None,
        done = work => Some(done),
    }
}

/// Tells the host of new entries, of calls that ended without being dispatched, and of
/// what else has happened.
async fn tell(run: &mut Run, host: &mut dyn Host, batch: Option<&Batch>) {
    let turn = run.turns();
    for entry in run.take_new_entries() {
        match &entry {
            Entry::Assistant { reply } if reply.stop == StopReason::MaxTokens => {
                host.on_event(Event::Truncated { turn }).await;
            }
            Entry::Results { results } => {
                for (position, result) in results.iter().enumerate() {
                    if !was_dispatched(batch, position) {
                        let (call_id, name) = (&result.call_id, &result.name);
                        let settled = &result.settled;
                        host.on_event(Event::ToolSettled { turn, call_id, name, settled }).await;
                    }
                }
            }
            Entry::Assistant { .. }
            | Entry::User { .. }
            | Entry::Fold { .. }
            | Entry::Stubs { .. } => {}
        }
        host.on_event(Event::Entry(&entry)).await;
    }
    for note in run.take_notes() {
        host.on_event(note.event()).await;
    }
}

fn was_dispatched(batch: Option<&Batch>, position: usize) -> bool {
    batch.is_some_and(|batch| batch.calls.iter().any(|call| call.position == position))
}
