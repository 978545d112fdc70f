//! harness/kernel
