//! When a server is asked: pure.

use jiff::{SignedDuration, Timestamp};

/// After an answer the next question comes then.
const REFRESH: SignedDuration = SignedDuration::from_mins(10);
/// After a first failure; doubled with each that follows.
const FIRST_WAIT: SignedDuration = SignedDuration::from_secs(10);
/// Longest wait after a failure.
const LAST_WAIT: SignedDuration = SignedDuration::from_mins(5);

/// What a server answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// These tools, in its order.
    Tools(Vec<String>),
    /// Nothing, and why.
    Silent(String),
}

/// What is known of one server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Memory {
    asked: Option<Asked>,
    written_at: Option<Timestamp>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Asked {
    generation: i64,
    answer: Option<Answer>,
    /// Failures in a row.
    failures: u32,
    next: Timestamp,
}

impl Memory {
    /// Whether it is time to ask about this generation. An edit is asked about at once.
    pub fn is_due(&self, generation: i64, now: Timestamp) -> bool {
        match &self.asked {
            Some(asked) if asked.generation == generation => asked.next <= now,
            Some(_) | None => true,
        }
    }

    /// What was answered; without an answer the question could not be put.
    pub fn heard(&mut self, generation: i64, answer: Option<Answer>, now: Timestamp) {
        let before = self.asked.take().filter(|asked| asked.generation == generation);
        let failed = !matches!(answer, Some(Answer::Tools(_)));
        let failures = match &before {
            Some(asked) if failed => asked.failures.saturating_add(1),
            None if failed => 1,
            Some(_) | None => 0,
        };
        let next = now + wait(failures);
        let answer = answer.or(before.and_then(|asked| asked.answer));
        self.asked = Some(Asked { generation, answer, failures, next });
    }

    /// The last answer about this generation.
    pub fn answer_to(&self, generation: i64) -> Option<&Answer> {
        let asked = self.asked.as_ref().filter(|asked| asked.generation == generation)?;
        asked.answer.as_ref()
    }

    /// Notes a write of the status.
    pub fn wrote(&mut self, now: Timestamp) {
        self.written_at = Some(now);
    }

    /// When the status was last written.
    pub fn written_at(&self) -> Option<Timestamp> {
        self.written_at
    }
}

/// How long until the next question after so many failures in a row.
fn wait(failures: u32) -> SignedDuration {
    match failures.checked_sub(1) {
        None => REFRESH,
        Some(doublings) => {
            let longer = FIRST_WAIT.checked_mul(2_i32.checked_pow(doublings).unwrap_or(i32::MAX));
            // One that is too long to count is beyond the last.
            longer.map_or(LAST_WAIT, |wait| wait.min(LAST_WAIT))
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn tools() -> Answer {
        Answer::Tools(vec!["echo".to_owned()])
    }

    fn silent() -> Answer {
        Answer::Silent("refused".to_owned())
    }

    #[test]
    fn a_server_that_answers_is_asked_again_after_ten_minutes_and_after_an_edit_at_once() {
        let mut memory = Memory::default();
        assert!(memory.is_due(1, at(0)), "one that was never asked");
        memory.heard(1, Some(tools()), at(0));
        assert!(!memory.is_due(1, at(599)));
        assert!(memory.is_due(1, at(600)));
        assert!(memory.is_due(2, at(1)), "the spec was edited");
        assert_eq!(memory.answer_to(1), Some(&tools()));
        assert_eq!(memory.answer_to(2), None, "the answer is about another spec");
    }

    #[test]
    fn a_server_that_fails_is_asked_ever_more_seldom_until_it_answers() {
        let mut memory = Memory::default();
        let mut now = 0;
        for wait in [10, 20, 40, 80, 160, 300, 300] {
            memory.heard(1, Some(silent()), at(now));
            assert!(!memory.is_due(1, at(now + wait - 1)), "{wait}");
            assert!(memory.is_due(1, at(now + wait)), "{wait}");
            now += wait;
        }
        memory.heard(1, Some(tools()), at(now));
        memory.heard(1, Some(silent()), at(now));
        assert!(memory.is_due(1, at(now + 10)), "an answer begins the count anew");
    }

    #[test]
    fn a_question_that_could_not_be_put_takes_no_answer_away() {
        let mut memory = Memory::default();
        memory.heard(1, Some(tools()), at(0));
        memory.heard(1, None, at(600));
        assert_eq!(memory.answer_to(1), Some(&tools()));
        assert!(memory.is_due(1, at(610)), "it is put again soon");
    }

    proptest! {
        #[test]
        fn no_wait_is_shorter_than_the_first_nor_longer_than_the_refresh(failures: u32) {
            let wait = wait(failures);
            prop_assert!((FIRST_WAIT..=REFRESH).contains(&wait), "{wait:?}");
        }
    }
}
