//! Scenarios across crates, in `tests/it`: the whole system as processes on a real
//! control plane. There is nothing here to use.
