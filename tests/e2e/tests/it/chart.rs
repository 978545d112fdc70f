//! The chart, by the Helm that its people use: what it renders, what it makes of a control
//! plane of its own, and whether its rights are those that operator and API need.

#[path = "chart/flows.rs"]
mod flows;
#[path = "chart/install.rs"]
mod install;
#[path = "chart/place.rs"]
mod place;
#[path = "chart/render.rs"]
mod render;
#[path = "chart/rights.rs"]
mod rights;
#[path = "chart/upgrade.rs"]
mod upgrade;
