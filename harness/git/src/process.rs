//! Commands without a shell: a program and its arguments, in a session of its own, under
//! a clock, with an environment made from an allow-list and an output bounded as it comes.

mod capture;
mod children;
mod command;
mod confine;
mod environment;
mod output;
mod path;
mod runner;

pub use children::{Minded, adopt_orphans};
pub use command::{Command, FOREGROUND_LIMIT};
pub use confine::Confinement;
pub use environment::Environment;
pub use output::{FullText, Output, OutputLimits};
pub use runner::{Exit, Finished, RunError, Runner, RunnerSettings};

pub(crate) use capture::Captured;
pub(crate) use runner::Reach;
