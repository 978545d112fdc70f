//! What the API knows of agents: how they are shown, what makes a request for one
//! valid, and how they are moved through their life.

pub mod draft;
pub mod slugs;
pub mod verbs;
pub mod view;
