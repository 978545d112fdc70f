//! The operator on a real control plane.

#![cfg(test)]

mod it {
    mod binary;
    mod cluster;
    mod leader;
    mod local;
    mod resources;
    mod world;
}
