//! Stand-ins for products that do not exist where Foundry is built and tested: the
//! scripted model ([`model`]), the development issuer ([`issuer`]), a git server over SSH
//! ([`git`]), GitHub's pull requests ([`github`]) and the people service ([`people`]).
//!
//! They use no crate of ours, so that they share no bug with what they test.

pub mod git;
pub mod github;
mod http;
pub mod issuer;
pub mod model;
pub mod people;
pub mod process;
mod switch;
