//! The policies of a run: one file, one pure function each.

pub(crate) mod cut_off;
pub(crate) mod finish;
pub mod ladder;
pub mod limits;
pub(crate) mod permit;
mod schema;
pub mod truncate;
