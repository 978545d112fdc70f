//! One look at a conversation: what would be shown, how large it is, where it may be cut.

use crate::rules::{self, Cut};
use crate::view::{self, Conversation, Marks, Shown};

/// What would be shown of a conversation. Nothing of it is copied.
pub(crate) struct Look<'a> {
    pub(crate) shown: Vec<Shown<'a>>,
    /// Bytes of the messages before each, and of all of them at the end.
    before: Vec<u64>,
    fixed: u64,
    log: usize,
}

impl<'a> Look<'a> {
    /// Looks at a conversation under these marks.
    pub(crate) fn at(conversation: &Conversation<'a>, marks: Marks<'a>) -> Self {
        let (shown, _) = view::enforced(conversation, marks);
        let mut before = Vec::with_capacity(shown.len() + 1);
        let mut sum: u64 = 0;
        before.push(sum);
        before.extend(shown.iter().map(|message| {
            sum = sum.saturating_add(message.bytes());
            sum
        }));
        Self { shown, before, fixed: conversation.fixed_bytes, log: conversation.log.len() }
    }

    /// Bytes of a request that shows it.
    pub(crate) fn bytes(&self) -> u64 {
        self.fixed.saturating_add(self.messages())
    }

    /// Bytes of its messages.
    pub(crate) fn messages(&self) -> u64 {
        self.before.last().copied().unwrap_or(0)
    }

    /// Bytes of system prompt and tools beside them.
    pub(crate) fn fixed(&self) -> u64 {
        self.fixed
    }

    /// Bytes of the messages before a cut.
    pub(crate) fn head(&self, cut: Cut) -> u64 {
        self.before.get(cut.at).copied().unwrap_or(0)
    }

    /// The oldest legal cut that leaves no more than so many bytes of messages. The end is
    /// one, save in a log of which nothing can be folded.
    pub(crate) fn cut_leaving(&self, bytes: u64) -> Option<Cut> {
        let mut cuts = self.cuts().into_iter();
        cuts.find(|cut| self.messages().saturating_sub(self.head(*cut)) <= bytes)
    }

    /// The newest legal cut up to another that takes no more than so many bytes of messages.
    pub(crate) fn cut_taking(&self, bytes: u64, until: Cut) -> Option<Cut> {
        let mut cuts = self.cuts().into_iter().rev();
        cuts.find(|cut| cut.at <= until.at && self.head(*cut) <= bytes)
    }

    fn cuts(&self) -> Vec<Cut> {
        rules::legal_cuts(&self.shown, self.log)
    }
}
