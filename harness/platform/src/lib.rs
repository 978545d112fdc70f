//! harness/platform
