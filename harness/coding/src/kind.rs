//! The kinds of events of a coding task, beside those every harness has; spelt nowhere
//! else.

/// The repository was cloned, or could not be.
pub const CLONE: &str = "clone";
/// A phase of a task begins.
pub const PHASE: &str = "phase";
/// An attempt at a phase begins, or is over.
pub const ATTEMPT: &str = "attempt";
/// A plan was saved (CODE-30).
pub const PLAN: &str = "plan";
/// A person is asked (CODE-17).
pub const QUESTION: &str = "question";
/// A question was answered.
pub const ANSWER: &str = "answer";
/// A command ran in the repository.
pub const COMMAND: &str = "command";
/// A task ended.
pub const RESULT: &str = "result";
