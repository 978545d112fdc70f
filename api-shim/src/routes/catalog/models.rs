//! `GET /v1/models`.

use std::sync::Arc;

use axum::{Json, extract::State};
use foundry_client::{ModelList, ModelView, Provider};
use foundry_crds::{Model, condition, model};
use foundry_relay::AUTO;
use kube::ResourceExt;

use crate::{app::App, authz::Action, extract::Caller, problem::Problem};

/// The models of the caller's workspace, with what each takes (BIND-07).
#[utoipa::path(
    get, path = "/v1/models", tag = "catalog",
    responses((status = 200, body = ModelList))
)]
pub async fn list_models(
    State(app): State<App>,
    caller: Caller,
) -> Result<Json<ModelList>, Problem> {
    app.authorize(&caller, Action::ReadCatalog)?;
    let models =
        app.cluster.models.select(&caller.0.workspace, |model| Some(Arc::new(model.clone())));
    let auto = foundry_relay::resolve(AUTO, &models).ok().map(ResourceExt::name_any);
    let items = models.iter().map(|model| view(model, auto.as_deref())).collect();
    Ok(Json(ModelList { items }))
}

fn view(model: &Model, auto: Option<&str>) -> ModelView {
    let name = model.name_any();
    let conditions = model.status.as_ref().map_or(&[][..], |status| &status.conditions);
    let ready = conditions.iter().find(|condition| condition.type_ == condition::kind::READY);
    let is_ready = ready.is_some_and(|ready| ready.status == "True");
    ModelView {
        wire_id: model.spec.wire_id.clone(),
        provider: match model.spec.provider {
            model::Provider::OpenAi => Provider::OpenAi,
            model::Provider::Anthropic => Provider::Anthropic,
            model::Provider::OpenAiCompatible => Provider::OpenAiCompatible,
        },
        is_auto: auto == Some(&name),
        max_context_tokens: model.spec.max_context_tokens,
        reasoning_efforts: model.spec.reasoning_efforts.clone(),
        ready: is_ready,
        reason: if is_ready {
            None
        } else {
            Some(ready.map_or("NotChecked".to_owned(), |ready| ready.reason.clone()))
        },
        name,
    }
}
