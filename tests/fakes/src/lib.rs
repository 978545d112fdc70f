//! Stand-ins for products that do not exist where Foundry is built and tested: the
//! scripted model ([`model`]) and the development issuer ([`issuer`]).
//!
//! They use no crate of ours, so that they share no bug with what they test.

pub mod issuer;
pub mod model;
pub mod process;
