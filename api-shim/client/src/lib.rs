//! How the Foundry API is called: wire types and a typed client.
//!
//! Harnesses, command lines and tests use [`Client`]; the API itself uses the
//! types of [`wire`] for its requests and responses, so that both sides can only
//! change together.

#![warn(missing_docs)]

pub mod client;
pub mod error;
pub mod token;
pub mod wire;

pub use client::{Client, READ_TIMEOUT};
pub use error::{ClientError, Failure};
pub use token::{FileToken, StaticToken, TokenError, TokenSource};
pub use wire::*;
