//! The text of a pull request (CODE-07).

use crate::repository::Identity;

/// Most characters that a host takes as description, with room to spare.
const LONGEST: usize = 60_000;

/// The description: a heading `Agent` and the agent's mailbox, then its own words. It
/// holds nothing that differs between two runs that do the same.
pub fn describe(identity: &Identity, words: &str) -> String {
    let mailbox = identity.mailbox();
    let words = words.trim();
    let opening = format!("## Agent\n\n{mailbox}\n");
    if words.is_empty() {
        return opening;
    }
    match words.char_indices().nth(LONGEST) {
        None => format!("{opening}\n{words}\n"),
        Some((end, _)) => {
            format!("{opening}\n{}\n\n*The rest was too long for a description.*\n", &words[..end])
        }
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use proptest::prelude::*;

    use super::*;

    fn scout() -> Identity {
        Identity::of_mailbox("scout@ai.flow.life").unwrap()
    }

    /// CODE-07
    #[test]
    fn a_description_opens_with_the_agent_and_its_mailbox() {
        assert_eq!(
            describe(&scout(), "\n## What\n\nGreets in full.\n"),
            "## Agent\n\nscout@ai.flow.life\n\n## What\n\nGreets in full.\n"
        );
        assert_eq!(describe(&scout(), "  "), "## Agent\n\nscout@ai.flow.life\n");
    }

    /// CODE-07
    #[test]
    fn a_description_is_never_longer_than_a_host_takes() {
        let described = describe(&scout(), &"ü".repeat(70_000));
        assert!(described.chars().count() < 65_536);
        assert!(described.ends_with("*The rest was too long for a description.*\n"));
    }

    proptest! {
        /// CODE-07
        #[test]
        fn whatever_the_words_the_agent_comes_first(words in "\\PC{0,200}") {
            let described = describe(&scout(), &words);
            prop_assert!(described.starts_with("## Agent\n\nscout@ai.flow.life\n"));
            prop_assert!(described.contains(words.trim()));
        }
    }
}
