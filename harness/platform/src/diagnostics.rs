//! What libraries and our own code have to say beside the event log: warnings and errors,
//! a line each on stderr.
//!
//! An own subscriber and not `tracing-subscriber`: that one keeps a registry of spans, and
//! a harness of which a thousand stand idle should not carry what nobody reads.

use std::fmt::{self, Write as _};
use std::io::Write;
use std::sync::{Mutex, PoisonError};

use tracing::field::{Field, Visit};
use tracing::level_filters::LevelFilter;
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::SetGlobalDefaultError;
use tracing::{Event, Level, Metadata, Subscriber};

use crate::clock::Clock;
use crate::redact::redact;
use crate::text::cut;

/// Longest line, in bytes.
const LINE_BYTES: usize = 4 * 1024;

/// Writes warnings and errors to `output` from now on, for the life of the process.
pub fn write_to(output: Box<dyn Write + Send>, clock: Clock) -> Result<(), SetGlobalDefaultError> {
    tracing::subscriber::set_global_default(Diagnostics { clock, output: Mutex::new(output) })
}

struct Diagnostics {
    clock: Clock,
    output: Mutex<Box<dyn Write + Send>>,
}

impl Subscriber for Diagnostics {
    /// Spans are never made, so the methods about them have nothing to do.
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.is_event() && *metadata.level() <= Level::WARN && !is_hearsay(metadata.target())
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(LevelFilter::WARN)
    }

    fn event(&self, event: &Event<'_>) {
        let metadata = event.metadata();
        let mut words = Words::default();
        event.record(&mut words);
        let Words { message, fields } = words;
        let (level, target) = (metadata.level(), metadata.target());
        let line = format!("{} {level} {target}: {message}{fields}", self.clock.now());
        let line = cut(&redact(&line), LINE_BYTES).replace(char::is_control, " ");
        let mut output = self.output.lock().unwrap_or_else(PoisonError::into_inner);
        // With a closed stderr there is nobody to tell.
        drop(writeln!(output, "{line}"));
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

/// Whether a library repeats there what a stranger sent, as often as he sends it. What
/// matters of it, the caller of the library tells itself.
fn is_hearsay(target: &str) -> bool {
    target == "rmcp" || target.starts_with("rmcp::")
}

/// What an event says: its message, then its fields.
#[derive(Default)]
struct Words {
    message: String,
    fields: String,
}

impl Visit for Words {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        // Writing to a string cannot fail.
        let _written = match field.name() {
            "message" => write!(self.message, "{value:?}"),
            name => write!(self.fields, " {name}={value:?}"),
        };
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use jiff::Timestamp;
    use pretty_assertions::assert_eq;

    use super::*;

    #[derive(Clone, Default)]
    struct Output(Arc<Mutex<Vec<u8>>>);

    impl Write for Output {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn warnings_and_errors_are_lines_with_their_fields_and_all_else_is_left_out() {
        let output = Output::default();
        let clock = Clock::new(|| Timestamp::UNIX_EPOCH);
        let diagnostics = Diagnostics { clock, output: Mutex::new(Box::new(output.clone())) };
        tracing::subscriber::with_default(diagnostics, || {
            let _span = tracing::error_span!("a span").entered();
            tracing::info!("not worth a line");
            tracing::warn!(rule = "answered", "a transcript\nwas repaired");
            tracing::error!("call +49 170 1234567\u{1b}[2J");
            tracing::error!(target: "rmcp::service", "what a server said");
        });
        let told = String::from_utf8(output.0.lock().unwrap().clone()).unwrap();
        let [warned, failed] = told.lines().collect::<Vec<_>>().try_into().unwrap();
        assert_eq!(
            warned,
            "1970-01-01T00:00:00Z WARN foundry_platform::diagnostics::tests: a transcript was \
             repaired rule=\"answered\""
        );
        assert!(failed.contains(" ERROR ") && !failed.contains("1234567"), "{failed}");
        assert!(!failed.contains(char::is_control), "{failed:?}");
    }
}
