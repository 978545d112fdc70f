//! A real PostgreSQL: given by URL, found on the machine, or fetched.

mod binaries;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection};
use tokio::sync::OnceCell;

use crate::fail::{fail, or_fail};
use crate::process::{NOBODY, Process, RunAs};
use crate::{RunFolder, free_port, random, settings, within};

const PATIENCE: Duration = Duration::from_mins(1);

/// A PostgreSQL server that answers.
#[derive(Debug)]
pub struct PostgresServer {
    /// Address without a database, such as `postgres://foundry@127.0.0.1:5432`.
    server: String,
    /// What follows the database in a URL, such as `?sslmode=require`.
    query: String,
    maintenance: String,
    _process: Option<Process>,
}

/// File in a run's folder that holds the shared server's URL.
pub fn shared_postgres_file(run: &Path) -> PathBuf {
    run.join("postgres.url")
}

/// The PostgreSQL of this test run. It is never skipped: without one, tests fail
/// and say what was tried.
pub async fn postgres() -> &'static PostgresServer {
    static SHARED: OnceCell<Result<PostgresServer, String>> = OnceCell::const_new();
    let shared = SHARED
        .get_or_init(|| async { open_or_start().await.map_err(|error| format!("{error:#}")) })
        .await;
    match shared {
        Ok(server) => server,
        Err(error) => fail(&format!("no PostgreSQL: {error}")),
    }
}

async fn open_or_start() -> Result<PostgresServer> {
    if let Some(run) = settings::run_folder() {
        let file = shared_postgres_file(&run);
        let url = fs::read_to_string(&file)
            .with_context(|| format!("failed to read {}", file.display()))?;
        return PostgresServer::open(url.trim()).await;
    }
    PostgresServer::start(RunFolder::of_this_process()?.path()).await
}

impl PostgresServer {
    /// The server that `FOUNDRY_TEST_POSTGRES_URL` names, or a new one with its
    /// files in `run`.
    pub async fn start(run: &Path) -> Result<Self> {
        if let Some(url) = settings::postgres_url() {
            return Self::open(&url).await;
        }
        let binaries = binaries::find_or_fetch().await?;
        let data = run.join("postgres");
        initialize(&binaries, &data).await?;
        let port = free_port()?;
        let mut process = serve(&binaries, &data, port)?;
        let url = format!("postgres://foundry@127.0.0.1:{port}/postgres");
        let connected = || async { PgConnection::connect(&url).await.map(drop) };
        process.wait_for("PostgreSQL accepts connections", PATIENCE, connected).await?;
        Self::at(&url, Some(process))
    }

    /// A server that somebody else keeps.
    pub async fn open(url: &str) -> Result<Self> {
        within("PostgreSQL answers", Duration::from_secs(10), || PgConnection::connect(url))
            .await
            .context("failed to reach the PostgreSQL of this run")?;
        Self::at(url, None)
    }

    /// URL of its maintenance database, for [`PostgresServer::open`].
    pub fn maintenance_url(&self) -> &str {
        &self.maintenance
    }

    /// Makes a new, empty database and gives its URL.
    pub async fn database(&self) -> String {
        or_fail(self.create_database().await)
    }

    async fn create_database(&self) -> Result<String> {
        let name = format!("test_{}_{}", std::process::id(), random::hex::<3>()?);
        let mut connection = PgConnection::connect(&self.maintenance)
            .await
            .context("failed to connect to PostgreSQL")?;
        // A name cannot be bound; this one holds digits and letters only.
        let create = format!("CREATE DATABASE {name}");
        connection
            .execute(sqlx::raw_sql(AssertSqlSafe(create)))
            .await
            .with_context(|| format!("failed to create database {name}"))?;
        Ok(format!("{}/{name}{}", self.server, self.query))
    }

    fn at(maintenance: &str, process: Option<Process>) -> Result<Self> {
        crate::install_tls_provider();
        let (server, query) = split(maintenance)?;
        Ok(Self {
            server: server.to_owned(),
            query: query.to_owned(),
            maintenance: maintenance.to_owned(),
            _process: process,
        })
    }
}

/// The part of a URL before its database and the query after it. The URL may hold a
/// password, so the refusal does not repeat it.
fn split(url: &str) -> Result<(&str, &str)> {
    let (path, query) = url.split_at(url.find('?').unwrap_or(url.len()));
    let split = path.rsplit_once('/').filter(|(server, _)| !server.ends_with('/'));
    let (server, database) = split.unwrap_or_default();
    ensure!(!database.is_empty(), "the PostgreSQL URL must name a database, such as /postgres");
    Ok((server, query))
}

async fn initialize(binaries: &Path, data: &Path) -> Result<()> {
    fs::create_dir_all(data).with_context(|| format!("failed to create {}", data.display()))?;
    if run_as() == RunAs::Nobody {
        std::os::unix::fs::chown(data, Some(NOBODY), Some(NOBODY))
            .with_context(|| format!("failed to give {} to nobody", data.display()))?;
    }
    let mut initdb = Command::new(binaries.join("initdb"));
    initdb.arg("--pgdata").arg(data);
    initdb.args(["--username=foundry", "--auth=trust", "--encoding=UTF8", "--locale=C"]);
    initdb.args(["--no-sync", "--no-instructions"]);
    initdb.current_dir("/");
    let log = data.with_extension("init.log");
    let mut initdb = Process::spawn_as(run_as(), "initdb", &initdb, &log)?;
    let status = initdb.finish(PATIENCE).await?;
    ensure!(status.success(), "initdb failed ({status}): {}", initdb.last_words());
    Ok(())
}

fn serve(binaries: &Path, data: &Path, port: u16) -> Result<Process> {
    let mut postgres = Command::new(binaries.join("postgres"));
    postgres.arg("-D").arg(data);
    postgres.args(["-h", "127.0.0.1", "-p", &port.to_string(), "-k", "", "-F"]);
    postgres.args(["-c", "max_connections=200", "-c", "full_page_writes=off"]);
    postgres.current_dir("/");
    Process::spawn_as(run_as(), "postgres", &postgres, &data.with_extension("log"))
}

/// PostgreSQL refuses to run as root.
fn run_as() -> RunAs {
    if rustix::process::geteuid().is_root() { RunAs::Nobody } else { RunAs::Caller }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_split_around_its_database() {
        let expected = ("postgres://me:x@db:5432", "?sslmode=require");
        assert_eq!(split("postgres://me:x@db:5432/postgres?sslmode=require").unwrap(), expected);
        assert_eq!(split("postgres://db/postgres").unwrap(), ("postgres://db", ""));
    }

    #[test]
    fn a_url_without_a_database_is_refused_without_its_password() {
        for url in ["postgres://me:secret@db", "postgres://me:secret@db/", "secret"] {
            let refused = split(url).unwrap_err().to_string();
            assert_eq!(refused, "the PostgreSQL URL must name a database, such as /postgres");
        }
    }
}
