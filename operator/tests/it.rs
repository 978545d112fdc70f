//! The operator on a real control plane.

#![cfg(test)]

mod it {
    mod binary;
    mod cluster;
    mod coding;
    mod coding_local;
    mod coding_obstacles;
    mod faults;
    mod leader;
    mod local;
    mod mailboxes;
    mod named;
    mod network;
    mod network_obstacles;
    mod nodes;
    mod probes;
    mod resources;
    mod revisions;
    mod swarm;
    mod swarm_obstacles;
    mod traces;
    mod waiting;
    mod world;
}
