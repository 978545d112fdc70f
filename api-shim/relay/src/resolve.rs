//! Which Model a call means (BIND-01, BIND-02).

use std::sync::Arc;

use foundry_crds::Model;
use foundry_crds::model::Provider;
use foundry_llm::{Wire, wire_for};

/// The model string that leaves the choice to Foundry.
pub const AUTO: &str = "auto";
/// What `auto` means: this model of provider `openai` (BIND-02).
const AUTO_MODEL: &str = "gpt-5-mini";
/// Most wire ids that an error lists.
const LISTED: usize = 20;

/// A model string that names no Model of the namespace.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ResolveError {
    /// `auto`, and the Model it stands for does not exist.
    #[error("model auto means openai / gpt-5-mini, and no such Model exists in this namespace")]
    NoAuto,
    /// A wire id that no Model has.
    #[error("no Model has wireId {asked}; there are: {}", listed(known))]
    Unknown {
        /// The model string.
        asked: String,
        /// The wire ids there are, in order.
        known: Vec<String>,
    },
}

/// The Model that `asked` names: `auto`, or a wire id. Of several with one wire id
/// the first by name is taken, so that the choice stays the same.
pub fn resolve<'a>(asked: &str, models: &'a [Arc<Model>]) -> Result<&'a Model, ResolveError> {
    let first_by_name = |matches: &dyn Fn(&Model) -> bool| {
        let candidates = models.iter().map(AsRef::as_ref).filter(|model| matches(model));
        candidates.min_by(|a, b| a.metadata.name.cmp(&b.metadata.name))
    };
    if asked == AUTO {
        return first_by_name(&is_auto).ok_or(ResolveError::NoAuto);
    }
    first_by_name(&|model| model.spec.wire_id == asked).ok_or_else(|| {
        let mut known: Vec<String> =
            models.iter().map(|model| model.spec.wire_id.clone()).collect();
        known.sort();
        known.dedup();
        ResolveError::Unknown { asked: asked.to_owned(), known }
    })
}

fn is_auto(model: &Model) -> bool {
    model.spec.provider == Provider::OpenAi && upstream_model(model) == AUTO_MODEL
}

/// The provider's own name of the model.
pub(crate) fn upstream_model(model: &Model) -> &str {
    model.spec.upstream_model.as_deref().unwrap_or(&model.spec.wire_id)
}

/// The protocol a provider speaks (KERN-03): a server of one's own that speaks
/// OpenAI's has a provider of its own, so `baseUrl` changes nothing here.
pub fn wire_of(provider: Provider) -> Wire {
    wire_for(provider_of(provider))
}

/// A Model's provider, as the transports name it.
pub(crate) fn provider_of(provider: Provider) -> foundry_llm::Provider {
    match provider {
        Provider::Anthropic => foundry_llm::Provider::Anthropic,
        Provider::OpenAi => foundry_llm::Provider::OpenAi,
        Provider::OpenAiCompatible => foundry_llm::Provider::OpenAiCompatible,
    }
}

fn listed(known: &[String]) -> String {
    if known.is_empty() {
        return "none; create one".to_owned();
    }
    let mut list = known.iter().take(LISTED).cloned().collect::<Vec<_>>().join(", ");
    if known.len() > LISTED {
        list.push_str(", …");
    }
    list
}

#[cfg(test)]
mod tests {
    use foundry_crds::ModelSpec;
    use pretty_assertions::assert_eq;

    use super::*;

    fn model(name: &str, wire_id: &str, provider: Provider, upstream: Option<&str>) -> Arc<Model> {
        let spec = ModelSpec {
            wire_id: wire_id.into(),
            provider,
            upstream_model: upstream.map(Into::into),
            base_url: None,
            api_key: None,
            max_context_tokens: None,
            reasoning_efforts: Vec::new(),
            prices: None,
        };
        Arc::new(Model::new(name, spec))
    }

    fn name(model: &Model) -> &str {
        model.metadata.name.as_deref().unwrap()
    }

    /// BIND-02
    #[test]
    fn auto_is_the_openai_model_gpt_5_mini_under_any_wire_id() {
        let models = [
            model("compatible", "gpt-5-mini", Provider::OpenAiCompatible, None),
            model("large", "gpt-5", Provider::OpenAi, None),
            model("house", "house-model", Provider::OpenAi, Some("gpt-5-mini")),
        ];
        assert_eq!(name(resolve("auto", &models).unwrap()), "house");
        let plain = [model("mini", "gpt-5-mini", Provider::OpenAi, None)];
        assert_eq!(name(resolve("auto", &plain).unwrap()), "mini");
        let renamed = [model("mini", "gpt-5-mini", Provider::OpenAi, Some("gpt-5"))];
        assert_eq!(resolve("auto", &renamed), Err(ResolveError::NoAuto));
    }

    /// BIND-01
    #[test]
    fn a_wire_id_names_its_model_and_the_first_by_name_of_two() {
        let models = [
            model("b", "claude", Provider::Anthropic, None),
            model("a", "claude", Provider::OpenAiCompatible, None),
            model("c", "gpt-5", Provider::OpenAi, None),
        ];
        assert_eq!(name(resolve("claude", &models).unwrap()), "a");
        assert_eq!(name(resolve("gpt-5", &models).unwrap()), "c");
    }

    #[test]
    fn an_unknown_model_is_answered_with_those_there_are() {
        let models = [
            model("b", "gpt-5", Provider::OpenAi, None),
            model("a", "claude", Provider::Anthropic, None),
        ];
        let error = resolve("gpt-6", &models).unwrap_err();
        assert_eq!(error.to_string(), "no Model has wireId gpt-6; there are: claude, gpt-5");
        let error = resolve("gpt-6", &[]).unwrap_err();
        assert_eq!(error.to_string(), "no Model has wireId gpt-6; there are: none; create one");
    }
}
