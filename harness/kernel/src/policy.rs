//! The policies of a run: one file, one pure function each.

pub(crate) mod cut_off;
pub(crate) mod empty;
pub(crate) mod fallback;
pub(crate) mod finish;
pub mod fit;
pub mod gauge;
pub(crate) mod interrupt;
pub(crate) mod kept;
pub mod ladder;
pub mod limits;
pub mod memory;
pub mod permit;
pub mod repeat;
pub mod schema;
pub(crate) mod search;
pub(crate) mod structural;
pub mod structured;
pub(crate) mod stub;
pub(crate) mod summary;
pub mod todos;
pub mod truncate;
