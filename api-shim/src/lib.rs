//! api-shim
