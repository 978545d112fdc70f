//! The real router on a real control plane, a real store and a real issuer, driven as
//! persons, pods and services.
#![cfg(test)]

mod it {
    mod agents;
    mod app;
    mod authz;
    mod catalog;
    mod client;
    mod cluster;
    mod coding;
    mod documents;
    mod ended;
    mod http;
    mod identity;
    mod inbox;
    mod intelligence;
    mod logs;
    mod memories;
    mod process;
    mod questions;
    mod relay;
    mod reported;
    mod repository;
    mod spawn;
    mod swarms;
    mod tool_servers;
    mod verbs;
}
