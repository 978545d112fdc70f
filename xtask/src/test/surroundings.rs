//! What all suites of a run share: one control plane, one PostgreSQL, one folder.

use std::ffi::OsString;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use testenv::{
    ControlPlane, Durability, PostgresServer, RunFolder, bin_folder, shared_control_plane_folder,
    shared_postgres_file,
};

/// Everything a suite finds around it.
pub(super) struct Surroundings {
    control_plane: ControlPlane,
    // Its process ends with it.
    _postgres: PostgresServer,
    run: RunFolder,
}

impl Surroundings {
    /// Starts both servers, side by side.
    pub async fn start() -> Result<Self> {
        let run = RunFolder::create()?;
        let (control_plane, postgres) =
            tokio::join!(start_control_plane(run.path()), start_postgres(run.path()));
        Ok(Self { control_plane: control_plane?, _postgres: postgres?, run })
    }

    /// The run's folder.
    pub fn folder(&self) -> &Path {
        self.run.path()
    }

    /// How suites find it.
    pub fn environment(&self) -> Result<Vec<(&'static str, OsString)>> {
        Ok(vec![
            ("FOUNDRY_TEST_RUN_DIR", self.run.path().into()),
            ("FOUNDRY_BIN_DIR", bin_folder()?.into()),
        ])
    }

    /// Ends both servers.
    pub async fn stop(self) -> Result<()> {
        self.control_plane.stop().await
    }
}

async fn start_control_plane(run: &Path) -> Result<ControlPlane> {
    let folder = shared_control_plane_folder(run);
    let control_plane = ControlPlane::start(&folder, Durability::Throwaway).await?;
    control_plane.install().await?;
    Ok(control_plane)
}

async fn start_postgres(run: &Path) -> Result<PostgresServer> {
    let server = PostgresServer::start(run).await.context("no PostgreSQL")?;
    let file = shared_postgres_file(run);
    fs::write(&file, server.maintenance_url())
        .with_context(|| format!("failed to write {}", file.display()))?;
    Ok(server)
}
