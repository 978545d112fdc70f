//! harness/agent
