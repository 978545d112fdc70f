//! Which reasoning effort a model is sent (CODE-41, CODE-42).

use crate::relay::Route;

/// What becomes of the effort that the settings ask for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effort {
    /// None was asked for.
    NotAsked,
    /// It is sent.
    Sent(String),
    /// It is not sent.
    Dropped {
        /// Why not, and what would be.
        line: String,
    },
}

impl Effort {
    /// A level is sent to a model whose catalog row lists it; and to every model while the
    /// catalog could not be read, for then whoever set it knows better than we do. A level
    /// that is not among the listed would only be refused by the provider.
    pub fn decide(asked: Option<&str>, model: &str, route: &Route) -> Self {
        let Some(asked) = asked else { return Self::NotAsked };
        match &route.efforts {
            None => Self::Sent(asked.to_owned()),
            Some(listed) if listed.iter().any(|level| level == asked) => {
                Self::Sent(asked.to_owned())
            }
            Some(listed) => {
                let levels = match listed.as_slice() {
                    [] => "no levels".to_owned(),
                    levels => levels.join(", "),
                };
                let line = format!(
                    "reasoning effort {asked} is not sent: the catalog lists {levels} for model \
                     {model} (Model spec.reasoningEfforts, FLOW_REASONING_EFFORT)"
                );
                Self::Dropped { line }
            }
        }
    }

    /// What a request carries.
    pub fn sent(&self) -> Option<&str> {
        match self {
            Self::Sent(level) => Some(level),
            Self::NotAsked | Self::Dropped { .. } => None,
        }
    }

    /// What there is to say about it.
    pub fn line(&self) -> Option<&str> {
        match self {
            Self::Dropped { line } => Some(line),
            Self::NotAsked | Self::Sent(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use foundry_llm::Provider;
    use rstest::rstest;

    use super::*;

    fn route(efforts: Option<&[&str]>) -> Route {
        let efforts = efforts.map(|levels| levels.iter().map(ToString::to_string).collect());
        Route { provider: Provider::OpenAi, window: None, efforts }
    }

    /// CODE-41, CODE-42
    #[rstest]
    #[case::listed(Some("high"), Some(&["low", "high"][..]), Some("high"))]
    #[case::no_levels(Some("high"), Some(&[][..]), None)]
    #[case::another_level(Some("xhigh"), Some(&["low", "high"][..]), None)]
    #[case::catalog_away(Some("high"), None, Some("high"))]
    #[case::not_asked(None, Some(&["low"][..]), None)]
    fn an_effort_is_sent_where_the_catalog_lists_it_or_cannot_be_read(
        #[case] asked: Option<&str>,
        #[case] listed: Option<&[&str]>,
        #[case] sent: Option<&str>,
    ) {
        let effort = Effort::decide(asked, "gpt-5-mini", &route(listed));
        assert_eq!(effort.sent(), sent);
        assert_eq!(effort.line().is_some(), asked.is_some() && sent.is_none());
    }

    /// CODE-41
    #[test]
    fn what_is_dropped_is_told_with_the_levels_there_are() {
        let effort = Effort::decide(Some("max"), "gpt-5-mini", &route(Some(&["low", "high"])));
        let line = effort.line().unwrap();
        assert!(line.starts_with("reasoning effort max is not sent"), "{line}");
        assert!(line.contains("low, high") && line.contains("gpt-5-mini"), "{line}");
    }
}
