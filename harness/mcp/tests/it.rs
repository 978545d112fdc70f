//! Against real servers: rmcp's own over HTTP and as a child, and the protocol's
//! reference server in JavaScript over both.
#![cfg(test)]

mod it {
    mod calls;
    mod catalog;
    mod deferred;
    mod everything;
    mod hostile;
    mod odd;
    mod reopen;
    mod scene;
    mod secrets;
    mod server;
    mod stdio;
}
