//! What is done behind a reply, by a thread of its own: the line of the capture file. Requests
//! that were answered unchecked are checked at the end: what is measured shall not have to
//! share the machine with it.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::sync::{Arc, Weak};

use super::captured::Captured;
use super::check;
use super::server::State;

/// Which lines of the capture file hold the request's body.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Bodies {
    /// All.
    #[default]
    All,
    /// The first of each conversation, for long runs.
    First,
}

/// Takes requests whose replies have ended.
#[derive(Debug)]
pub(super) struct Recorder(Sender<Order>);

enum Order {
    Serve(Weak<State>),
    Record(Arc<Captured>, Work),
    Write(PathBuf, Bodies),
    /// Tells when all before it is written.
    Flush(Sender<()>),
}

/// What is left to do for a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Work {
    Write,
    /// It was answered unchecked.
    WriteAndCheck,
}

impl Recorder {
    /// Starts the thread. It ends when this is dropped.
    pub fn start() -> std::io::Result<Self> {
        let (sender, orders) = channel();
        let thread = std::thread::Builder::new().name("recorder".to_owned());
        let desk = Desk { state: Weak::new(), file: None, unchecked: Vec::new() };
        thread.spawn(move || desk.work(&orders))?;
        Ok(Self(sender))
    }

    /// Complains to this server from now on.
    pub fn serve(&self, state: &Arc<State>) {
        self.order(Order::Serve(Arc::downgrade(state)));
    }

    /// Writes to this file from now on.
    pub fn write_to(&self, file: PathBuf, bodies: Bodies) {
        self.order(Order::Write(file, bodies));
    }

    pub fn record(&self, request: Arc<Captured>, work: Work) {
        self.order(Order::Record(request, work));
    }

    /// A receiver that hears when all so far is written and checked.
    pub fn flushed(&self) -> Receiver<()> {
        let (done, heard) = channel();
        self.order(Order::Flush(done));
        heard
    }

    /// The thread takes orders as long as there is a sender.
    fn order(&self, order: Order) {
        let _taken = self.0.send(order);
    }
}

struct Desk {
    state: Weak<State>,
    file: Option<(PathBuf, BufWriter<File>, Bodies)>,
    unchecked: Vec<Arc<Captured>>,
}

impl Desk {
    fn work(mut self, orders: &Receiver<Order>) {
        loop {
            let order = match orders.try_recv() {
                Ok(order) => order,
                Err(TryRecvError::Disconnected) => return,
                Err(TryRecvError::Empty) => {
                    // Nothing else to do: whoever reads the file shall see all of it.
                    self.attempt(|(_, file, _)| file.flush());
                    match orders.recv() {
                        Ok(order) => order,
                        Err(_) => return,
                    }
                }
            };
            self.take(order);
        }
    }

    fn take(&mut self, order: Order) {
        match order {
            Order::Serve(state) => self.state = state,
            Order::Write(path, bodies) => {
                match File::options().create(true).append(true).open(&path) {
                    Ok(file) => self.file = Some((path, BufWriter::new(file), bodies)),
                    Err(error) => self.complain(&path, &error),
                }
            }
            Order::Record(request, work) => {
                self.attempt(|(_, file, bodies)| write(file, *bodies, &request));
                if work == Work::WriteAndCheck {
                    self.unchecked.push(request);
                }
            }
            Order::Flush(done) => {
                self.attempt(|(_, file, _)| file.flush());
                self.check();
                let _heard = done.send(());
            }
        }
    }

    fn check(&mut self) {
        let Some(state) = self.state.upgrade() else { return };
        for request in self.unchecked.drain(..) {
            let mut violations = check::violations(&request);
            let mut inner = state.lock();
            violations.extend(check::whole_thinking(&request, &inner.said));
            inner.add_violations(&request, &violations);
        }
    }

    fn attempt(
        &mut self,
        work: impl FnOnce(&mut (PathBuf, BufWriter<File>, Bodies)) -> std::io::Result<()>,
    ) {
        let failed = self.file.as_mut().and_then(|file| {
            let error = work(file).err()?;
            Some((file.0.clone(), error))
        });
        if let Some((path, error)) = failed {
            self.complain(&path, &error);
            self.file = None;
        }
    }

    fn complain(&self, path: &Path, error: &std::io::Error) {
        if let Some(state) = self.state.upgrade() {
            let complaint = format!("failed to write to {}: {error}", path.display());
            state.lock().complaints.push(complaint);
        }
    }
}

/// One line. A body without line breaks stands there as it came, not read again.
fn write(file: &mut BufWriter<File>, bodies: Bodies, request: &Captured) -> std::io::Result<()> {
    let line = request.line().to_string();
    let whole = bodies == Bodies::All || request.nth == 1;
    let Some(line) = line.strip_suffix('}').filter(|_| whole) else {
        return writeln!(file, "{line}");
    };
    let is_json = serde_json::from_str::<serde::de::IgnoredAny>(&request.raw).is_ok();
    if is_json && !request.raw.contains('\n') {
        writeln!(file, "{line},\"body\":{}}}", &*request.raw)
    } else {
        writeln!(file, "{line},\"body\":{}}}", *request.body)
    }
}
