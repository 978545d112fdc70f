//! The tests' server on standard streams. Each life of it adds a line to the file that
//! `FOUNDRY_TEST_LIVES` names, and each call of `write` one to the same file.

#[path = "../tests/it/server.rs"]
#[expect(dead_code, reason = "tests that share a process with their server ask it for more")]
mod server;

use std::fs::OpenOptions;
use std::io::Write as _;

use rmcp::ServiceExt as _;

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    #[expect(
        clippy::disallowed_methods,
        reason = "a program of the tests, which has no settings but this"
    )]
    if let Ok(file) = std::env::var("FOUNDRY_TEST_LIVES") {
        writeln!(OpenOptions::new().create(true).append(true).open(file)?, "life")?;
    }
    let world = server::World::default();
    let service = server::TestServer::new(world).serve(rmcp::transport::stdio()).await?;
    service.waiting().await?;
    Ok(())
}
