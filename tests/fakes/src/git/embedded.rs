//! The SSH server in this crate: one user, one key, two programs, no shell.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use russh::keys::{PrivateKey, PublicKey};
use russh::server::{
    Auth, ChannelOpenHandle, Config, Handler, Msg, PublicKeyOffer, Session as Connection,
    VerifiedPublicKey,
};
use russh::{Channel, ChannelId, ChannelMsg, ChannelReadHalf, ChannelWriteHalf, MethodKind};
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;
use tokio_util::sync::CancellationToken;

use super::backend::Serving;
use super::command::{Program, Unfit, Wanted};
use super::faults::Hang;
use super::hook;
use super::pump::{self, Limits};
use super::server::Session;

/// The user that clients log in as, as at every host of git repositories.
pub(super) const USER: &str = "git";

#[derive(Debug)]
pub(super) struct Embedded {
    hooks: PathBuf,
}

impl Embedded {
    pub(super) fn new(keys: &Path) -> Result<Self> {
        Ok(Self { hooks: hook::write_in(keys)? })
    }

    pub(super) async fn serve(
        &self,
        stream: TcpStream,
        limits: Limits,
        serving: Serving,
    ) -> Result<()> {
        let keys = &serving.state.keys;
        let host =
            if serving.faults.other_host_key { keys.other_host() } else { keys.host() }.clone();
        let config = Arc::new(config(host));
        let (ours, theirs) = tokio::io::duplex(256 * 1024);
        let over = CancellationToken::new();
        // Commands end with their connection, however this function ends.
        let _ends = over.clone().drop_guard();
        let handler = Client {
            allowed: keys.client().clone(),
            hooks: self.hooks.clone(),
            channels: HashMap::new(),
            protocol: HashMap::new(),
            over,
            serving,
        };
        let (from_backend, to_backend) = tokio::io::split(ours);
        let session = async {
            // A client that breaks off is no fault of ours.
            if let Ok(session) = russh::server::run_stream(config, theirs, handler).await {
                let _ended = session.await;
            }
        };
        tokio::join!(session, pump::run(stream, limits, from_backend, to_backend));
        Ok(())
    }
}

fn config(host: PrivateKey) -> Config {
    Config {
        methods: [MethodKind::PublicKey].as_slice().into(),
        auth_rejection_time: Duration::ZERO,
        keys: vec![host],
        inactivity_timeout: None,
        ..Config::default()
    }
}

/// One connection.
struct Client {
    allowed: PublicKey,
    hooks: PathBuf,
    channels: HashMap<ChannelId, Channel<Msg>>,
    /// `GIT_PROTOCOL`, as the client asked for it.
    protocol: HashMap<ChannelId, String>,
    over: CancellationToken,
    serving: Serving,
}

impl Client {
    fn lets_in(&self, user: &str, key: &PublicKey) -> Auth {
        let known = user == USER && key.key_data() == self.allowed.key_data();
        if known && !self.serving.faults.refuse_authentication {
            Auth::Accept
        } else {
            Auth::reject()
        }
    }

    /// Answers in words and ends the channel.
    fn refuse(&self, channel: Channel<Msg>, words: String) {
        self.serving.tasks.spawn(async move {
            let (_reader, writer) = channel.split();
            end(&writer, Err(words)).await;
        });
    }
}

impl Handler for Client {
    type Error = russh::Error;

    async fn auth_publickey_offered(
        &mut self,
        user: &str,
        offer: PublicKeyOffer<'_>,
    ) -> Result<Auth, Self::Error> {
        Ok(self.lets_in(user, offer.public_key))
    }

    async fn auth_publickey(
        &mut self,
        user: &str,
        key: VerifiedPublicKey<'_>,
    ) -> Result<Auth, Self::Error> {
        Ok(self.lets_in(user, key.public_key))
    }

    async fn channel_open_session(
        &mut self,
        channel: Channel<Msg>,
        reply: ChannelOpenHandle,
        _connection: &mut Connection,
    ) -> Result<(), Self::Error> {
        self.channels.insert(channel.id(), channel);
        reply.accept().await;
        Ok(())
    }

    async fn env_request(
        &mut self,
        channel: ChannelId,
        name: &str,
        value: &str,
        connection: &mut Connection,
    ) -> Result<(), Self::Error> {
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '=' | ':' | '.' | '-');
        if name == "GIT_PROTOCOL" && value.len() <= 256 && value.chars().all(plain) {
            self.protocol.insert(channel, value.to_owned());
            connection.channel_success(channel)
        } else {
            connection.channel_failure(channel)
        }
    }

    async fn exec_request(
        &mut self,
        id: ChannelId,
        request: &[u8],
        connection: &mut Connection,
    ) -> Result<(), Self::Error> {
        let Some(channel) = self.channels.remove(&id) else {
            return connection.channel_failure(id);
        };
        connection.channel_success(id)?;
        let (state, faults) = (&self.serving.state, &self.serving.faults);
        let found = Wanted::parse(request)
            .and_then(|wanted| Ok((wanted.find_in(&state.repositories)?, wanted)));
        let (path, wanted) = match found {
            Ok(found) => found,
            Err(unfit @ (Unfit::Command | Unfit::Path)) => {
                self.refuse(channel, unfit.to_string());
                return Ok(());
            }
        };
        state.note(Session {
            connection: self.serving.number,
            program: wanted.program,
            repository: wanted.repository.clone(),
        });
        if faults.read_only && wanted.program == Program::ReceivePack {
            self.refuse(channel, hook::READ_ONLY.to_owned());
            return Ok(());
        }
        let mut command = super::git(&path);
        command
            .args(hook::settings(&self.hooks))
            .arg(wanted.program.name())
            .arg(&path)
            .env("REFUSALS", hook::refusals(faults, &wanted.repository));
        if let Some(protocol) = self.protocol.remove(&id) {
            command.env("GIT_PROTOCOL", protocol);
        }
        let hang = faults.hang == Some(Hang::Command);
        let over = self.over.clone();
        self.serving.tasks.spawn(async move {
            let running = async {
                if hang { std::future::pending().await } else { run(command, channel).await }
            };
            tokio::select! { () = running => {} () = over.cancelled() => {} }
        });
        Ok(())
    }

    async fn shell_request(
        &mut self,
        id: ChannelId,
        connection: &mut Connection,
    ) -> Result<(), Self::Error> {
        let Some(channel) = self.channels.remove(&id) else {
            return connection.channel_failure(id);
        };
        connection.channel_success(id)?;
        let words = "Hi! You have successfully authenticated, but there is no shell here.";
        self.refuse(channel, words.to_owned());
        Ok(())
    }

    async fn subsystem_request(
        &mut self,
        channel: ChannelId,
        _name: &str,
        connection: &mut Connection,
    ) -> Result<(), Self::Error> {
        connection.channel_failure(channel)
    }
}

/// Runs git on a channel to its end, or until the client leaves.
async fn run(mut command: std::process::Command, channel: Channel<Msg>) {
    command.stdin(Stdio::piped());
    let (reader, writer) = channel.split();
    let mut command = tokio::process::Command::from(command);
    let outcome = match command.kill_on_drop(true).spawn() {
        Ok(child) => match carry(child, reader, &writer).await {
            Some(status) => Ok(status),
            None => return, // nobody is there to be told
        },
        Err(error) => Err(format!("ERROR: failed to run git: {error}")),
    };
    end(&writer, outcome).await;
}

/// Between a process and a channel. The exit status, unless the client left first.
async fn carry(
    mut child: tokio::process::Child,
    reader: ChannelReadHalf,
    writer: &ChannelWriteHalf<Msg>,
) -> Option<u32> {
    let (mut stdout, mut stderr) = (child.stdout.take()?, child.stderr.take()?);
    let stdin = child.stdin.take()?;
    let (mut out, mut err) = (writer.make_writer(), writer.make_writer_ext(Some(1)));
    let ended = async {
        // Where the client reads no more, git is told so by a closed pipe.
        let out = async move { tokio::io::copy(&mut stdout, &mut out).await };
        let err = async move { tokio::io::copy(&mut stderr, &mut err).await };
        let (_out, _err, status) = tokio::join!(out, err, child.wait());
        status.ok().and_then(|status| status.code()).and_then(|code| u32::try_from(code).ok())
    };
    tokio::select! {
        status = ended => Some(status.unwrap_or(128)), // as a shell says of a signal
        () = feed(reader, stdin) => None,
    }
}

/// Writes to git what the client sends. Returns when the client has left.
async fn feed(mut reader: ChannelReadHalf, stdin: tokio::process::ChildStdin) {
    let mut stdin = Some(stdin);
    while let Some(message) = reader.wait().await {
        match message {
            ChannelMsg::Data { data } => {
                if let Some(open) = &mut stdin
                    && open.write_all(&data).await.is_err()
                {
                    stdin = None; // git has heard enough; what it says comes first
                }
            }
            ChannelMsg::Eof => stdin = None,
            ChannelMsg::Close => return,
            _ => {}
        }
    }
}

/// The last words on a channel: an exit status, or what is wrong.
async fn end(writer: &ChannelWriteHalf<Msg>, outcome: Result<u32, String>) {
    let say = async {
        let status = match outcome {
            Ok(status) => status,
            Err(words) => {
                writer.extended_data_bytes(1, format!("{words}\n").into_bytes()).await?;
                1
            }
        };
        writer.eof().await?;
        writer.exit_status(status).await?;
        writer.close().await
    };
    let _heard: Result<(), russh::Error> = say.await; // the client may have left
}
