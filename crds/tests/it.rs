//! The definitions, policies and roles on a real control plane.
#![cfg(test)]

mod it {
    mod cases;
    mod look;
    mod policies;
    mod rights;
    mod rules;
}
