//! The demo itself, from outside.

#![cfg(test)]

#[path = "it/demo.rs"]
mod demo;
#[path = "it/document.rs"]
mod document;
