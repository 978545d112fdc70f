//! tests/testenv
