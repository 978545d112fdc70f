//! How a turn is run: ask the model, run the tools it calls, feed the results
//! back, until the run ends (KERN-01).
//!
//! [`Run`] decides and never waits: it holds no clock, no client and no secret,
//! says what is to be done next ([`Step`]) and is told what came of it. It can
//! be stored between any two steps and resumed elsewhere. [`drive()`] is the only
//! loop; what it needs of the world (a model, time, a place for events) it takes
//! from a [`Host`]. Tools are data and one trait, [`Execute`]. Nothing here knows
//! a product type (KERN-02).
//!
//! Each policy is one file of pure functions in [`policy`]; each rule that a
//! transcript must keep is one file in `rules`, enforced by [`view()`].

#![warn(missing_docs)]

mod drive;
mod entry;
mod host;
mod outcome;
pub mod policy;
mod rules;
mod run;
#[cfg(test)]
mod scenes;
mod step;
mod tool;
mod view;

pub use drive::drive;
pub use entry::{CallResult, Entry, Settled, UserInput};
pub use host::{Control, Event, Host};
pub use outcome::{Failure, Outcome, Stop};
pub use policy::ladder::{Capacity, Ladder, LongPacing};
pub use policy::limits::Limits;
pub use policy::truncate::ResultForm;
pub use rules::Violation;
pub use run::{Run, RunOptions, RunState, Settings};
pub use step::{Batch, Dispatch, ModelCall, Step};
pub use tool::{AssembleError, Effect, Execute, Then, Tool, ToolError};
pub use view::{View, view};
