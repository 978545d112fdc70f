//! Swarms: how one is started, and how it is shown. The operator makes the members.

pub mod draft;
pub mod view;
