//! Against real servers: rmcp's own over HTTP and as a child, and the protocol's
//! reference server in JavaScript over both.
#![cfg(test)]

mod it {
    mod calls;
    mod catalog;
    mod deferred;
    mod everything;
    mod odd;
    mod reopen;
    mod scene;
    mod server;
    mod stdio;
}
