//! A real sshd behind the same interface, where one can be had: `sshd -i`, started for
//! each connection, so that every fault is one of its own configuration.

mod fetch;
mod script;

use std::ffi::OsString;
use std::fs;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail, ensure};
use rustix::process::{getgid, getuid};
use tokio::net::TcpStream;

use super::backend::Serving;
use super::command::Program;
use super::embedded;
use super::faults::Faults;
use super::hook;
use super::pump::{self, Limits};
use super::server::Session;

/// An sshd that can be started.
#[derive(Clone, Debug)]
pub struct Sshd {
    program: PathBuf,
    /// Folder that its packages were unpacked in; absent for one that is installed.
    unpacked: Option<PathBuf>,
}

/// The sshd of this machine, or else one from its packages, unpacked in `cache`. `None`
/// when neither can be had, which is then said on the terminal.
pub fn sshd(cache: &Path) -> Option<Sshd> {
    match Sshd::find().or_else(|_| Sshd::fetch(cache)) {
        Ok(sshd) => Some(sshd),
        Err(error) => {
            let mut terminal = std::io::stderr();
            writeln!(
                terminal,
                "openssh: not run, sshd is not installed and its packages cannot be had: {error:#}"
            )
            .ok();
            None
        }
    }
}

impl Sshd {
    /// The sshd on the search path or where systems keep it.
    pub fn find() -> Result<Self> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let system = ["/usr/sbin", "/usr/local/sbin"].map(PathBuf::from);
        let places = std::env::split_paths(&path).chain(system);
        let program = places.map(|place| place.join("sshd")).find(|program| program.is_file());
        Ok(Self { program: program.context("there is no sshd")?, unpacked: None })
    }

    /// Downloads sshd's packages with apt-get, without installing them, and unpacks
    /// them in `cache`, once.
    pub fn fetch(cache: &Path) -> Result<Self> {
        let unpacked = fetch::unpacked(cache)?;
        Ok(Self { program: unpacked.join("usr/sbin/sshd"), unpacked: Some(unpacked) })
    }

    /// A command that runs it. One that is not installed has its own libraries, and its
    /// own users from the two files in `folder`.
    fn command(&self, folder: &Path) -> Command {
        let mut command = Command::new(&self.program);
        command.env_clear();
        if let Some(unpacked) = &self.unpacked {
            let libraries = fetch::libraries(unpacked);
            let joined = std::env::join_paths(libraries).unwrap_or_else(|_| OsString::new());
            command
                .env("LD_LIBRARY_PATH", joined)
                .env("LD_PRELOAD", "libnss_wrapper.so")
                .env("NSS_WRAPPER_PASSWD", folder.join("passwd"))
                .env("NSS_WRAPPER_GROUP", folder.join("group"));
        }
        command
    }
}

/// The backend: an sshd, and the folder with what it needs.
#[derive(Debug)]
pub(super) struct OpenSsh {
    sshd: Sshd,
    keys: PathBuf,
    folder: PathBuf,
    hooks: PathBuf,
    user: String,
}

impl OpenSsh {
    pub(super) fn new(sshd: Sshd, keys: &Path) -> Result<Self> {
        // sshd resolves nothing against a folder of ours.
        let keys = keys
            .canonicalize()
            .with_context(|| format!("failed to find the folder {}", keys.display()))?;
        let folder = keys.join("openssh");
        fs::create_dir_all(&folder)
            .with_context(|| format!("failed to make the folder {}", folder.display()))?;
        let hooks = hook::write_in(&keys)?;
        let user = match sshd.unpacked {
            Some(_) => {
                write_users(&folder)?;
                embedded::USER.to_owned()
            }
            None => who_am_i()?,
        };
        let backend = Self { sshd, keys, folder, hooks, user };
        backend.try_out()?;
        Ok(backend)
    }

    pub(super) fn user(&self) -> &str {
        &self.user
    }

    pub(super) fn sessions(&self) -> Vec<Session> {
        let lines = fs::read_to_string(self.sessions_file()).unwrap_or_default();
        let session = |line: &str| {
            let mut words = line.split(' ');
            let connection = words.next()?.parse().ok()?;
            let program = match words.next()? {
                "upload-pack" => Program::UploadPack,
                _ => Program::ReceivePack,
            };
            Some(Session { connection, program, repository: words.next()?.to_owned() })
        };
        lines.lines().filter_map(session).collect()
    }

    fn sessions_file(&self) -> PathBuf {
        self.folder.join("sessions")
    }

    /// Asks sshd what it thinks of its configuration; makes the folder it wants as root.
    fn try_out(&self) -> Result<()> {
        if let Err(error) = fs::remove_file(self.sessions_file()) {
            ensure!(error.kind() == std::io::ErrorKind::NotFound, "failed to forget: {error}");
        }
        let config = self.folder.join("sshd_config");
        write(&config, &self.config(&self.folder.join("serve"), &Faults::default()), 0o600)?;
        for attempt in 0..2 {
            let mut command = self.sshd.command(&self.folder);
            let output = command.arg("-t").arg("-f").arg(&config).output();
            let output = output.context("failed to run sshd")?;
            if output.status.success() {
                return Ok(());
            }
            let words = String::from_utf8_lossy(&output.stderr).trim().to_owned();
            let missing = words.strip_prefix("Missing privilege separation directory: ");
            match missing {
                Some(folder) if attempt == 0 => fs::create_dir_all(folder)
                    .with_context(|| format!("failed to make sshd's folder {folder}"))?,
                _ => bail!("sshd would not start: {words}"),
            }
        }
        Ok(())
    }

    pub(super) async fn serve(
        &self,
        stream: TcpStream,
        limits: Limits,
        serving: Serving,
    ) -> Result<()> {
        let Serving { state, number, faults, tasks: _ } = serving;
        let folder = self.folder.join(number.to_string());
        fs::create_dir_all(&folder)
            .with_context(|| format!("failed to make the folder {}", folder.display()))?;
        let (config, command) = (folder.join("sshd_config"), folder.join("serve"));
        let order = script::Order {
            number,
            repositories: &state.repositories,
            hooks: &self.hooks,
            sessions: &self.sessions_file(),
            faults: &faults,
        };
        write(&command, &order.script()?, 0o700)?;
        write(&config, &self.config(&command, &faults), 0o600)?;
        let log = fs::File::options()
            .create(true)
            .append(true)
            .open(self.folder.join("sshd.log"))
            .context("failed to open sshd.log")?;
        let mut sshd = self.sshd.command(&self.folder);
        sshd.arg("-i").arg("-e").arg("-f").arg(&config);
        sshd.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(log);
        let mut child = tokio::process::Command::from(sshd)
            .kill_on_drop(true)
            .spawn()
            .context("failed to start sshd")?;
        let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
        if let (Some(stdin), Some(stdout)) = (stdin, stdout) {
            pump::run(stream, limits, stdout, stdin).await;
        }
        fs::remove_dir_all(&folder)
            .with_context(|| format!("failed to remove {}", folder.display()))
    }

    fn config(&self, command: &Path, faults: &Faults) -> String {
        let host = if faults.other_host_key { "other_host_key" } else { "host_key" };
        let allowed = if faults.refuse_authentication { "nobody.pub" } else { "client_key.pub" };
        let mut lines = vec![
            format!("HostKey {}", quoted(&self.keys.join(host))),
            format!("AuthorizedKeysFile {}", quoted(&self.keys.join(allowed))),
            format!("ForceCommand exec {}", script::shell_quoted(command)),
            format!("AllowUsers {}", self.user),
        ];
        let fixed = [
            "StrictModes no", // a temporary folder may be anybody's to list
            "UsePAM no",
            "AuthenticationMethods publickey",
            "PermitRootLogin prohibit-password",
            "AcceptEnv GIT_PROTOCOL",
            "DisableForwarding yes",
            "PermitTTY no",
            "PermitUserRC no",
            "PrintMotd no",
            "PidFile none",
            "LogLevel VERBOSE",
        ];
        lines.extend(fixed.map(str::to_owned));
        if let Some(unpacked) = &self.sshd.unpacked {
            // Newer ones have a program for each stage.
            let stages = [("SshdSessionPath", "sshd-session"), ("SshdAuthPath", "sshd-auth")];
            for (keyword, name) in stages {
                let program = unpacked.join("usr/lib/openssh").join(name);
                if program.is_file() {
                    lines.push(format!("{keyword} {}", quoted(&program)));
                }
            }
        }
        lines.push(String::new());
        lines.join("\n")
    }
}

/// A path as sshd's configuration takes it.
fn quoted(path: &Path) -> String {
    format!("\"{}\"", path.display())
}

/// The user `git`, who is whoever runs this, and the user that sshd wants as root.
fn write_users(folder: &Path) -> Result<()> {
    let (user, group) = (getuid().as_raw(), getgid().as_raw());
    let passwd = format!(
        "git:x:{user}:{group}:git:{}:/bin/sh\n\
         sshd:x:65534:65534:sshd:/nonexistent:/usr/sbin/nologin\n",
        folder.display()
    );
    write(&folder.join("passwd"), &passwd, 0o644)?;
    write(&folder.join("group"), &format!("git:x:{group}:\nnogroup:x:65534:\n"), 0o644)
}

fn who_am_i() -> Result<String> {
    let output = Command::new("id").arg("-un").output().context("failed to run id")?;
    let name = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    ensure!(!name.is_empty(), "this process runs as a user without a name");
    Ok(name)
}

fn write(file: &Path, text: &str, mode: u32) -> Result<()> {
    let write = || {
        fs::write(file, text)?;
        fs::set_permissions(file, fs::Permissions::from_mode(mode))
    };
    write().with_context(|| format!("failed to write {}", file.display()))
}
