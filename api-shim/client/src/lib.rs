//! api-shim/client
