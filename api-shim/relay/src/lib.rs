//! api-shim/relay
