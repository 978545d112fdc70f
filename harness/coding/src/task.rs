//! What a task is made of, and every decision about it: pure, and tested as tables.

pub mod attempt;
pub mod carry;
pub mod clock;
pub mod finish;
pub mod ledger;
pub mod stage;
