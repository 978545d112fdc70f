//! Network policies: what harness pods reach, and who reaches them.
//!
//! Two in each watched namespace, over labels that every harness pod has: one closes all
//! but DNS and platform services (NET-01, NET-02), the other opens public Git hosts and
//! registries to coding pods (NET-03, NET-04). They are the cluster runtime's alone:
//! processes of this machine are in no pod that a policy could select.

pub mod fence;
pub mod flows;
mod pace;
pub mod plan;
pub mod policies;

#[cfg(test)]
mod tests;
