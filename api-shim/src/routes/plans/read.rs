//! `GET /v1/documents/{document_id}`.

use axum::{
    extract::{Path, State},
    response::IntoResponse,
};
use foundry_client::Problem as ProblemDocument;
use http::header;
use serde::Deserialize;
use utoipa::IntoParams;

use crate::{app::App, documents::BadLink, extract::Params, problem::Problem};

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct Link {
    /// When the link ends, in seconds since 1970.
    expires: Option<i64>,
    /// The link's signature.
    signature: Option<String>,
}

/// Reads a document by a link that `GET /v1/agents/{id}/plans/{document_id}` gave.
/// Whoever has the link may read, for five minutes (ROUTE-13).
#[utoipa::path(
    get, path = "/v1/documents/{document_id}", tag = "coding", security(("link" = [])),
    params(("document_id" = String, Path, description = "the document"), Link),
    responses(
        (status = 200, body = String, content_type = "text/markdown"),
        (status = 401, body = ProblemDocument, description = "no signature"),
        (status = 403, body = ProblemDocument, description = "the link is not one of this API's, or its time is over"),
        (status = 404, body = ProblemDocument),
        (status = 503, body = ProblemDocument, description = "document storage does not serve"),
    )
)]
pub async fn read_document(
    State(app): State<App>,
    Path(document_id): Path<String>,
    params: Params,
) -> Result<impl IntoResponse, Problem> {
    let Link { expires, signature } = params.parse()?;
    let (Some(expires), Some(signature)) = (expires, signature) else {
        return Err(Problem::unauthenticated("the address of the document carries no signature")
            .remedy(ASK_AGAIN));
    };
    let missing = || Problem::not_found("document", &document_id);
    let links = app.documents.links().ok_or_else(missing)?;
    links.check(&document_id, expires, &signature, app.clock.now()).map_err(|bad| {
        let (reason, detail) = match bad {
            BadLink::Forged => ("BadSignature", "this is no link of this API"),
            BadLink::Expired => ("LinkExpired", "the time of this link is over"),
        };
        Problem::forbidden(reason, detail).remedy(ASK_AGAIN)
    })?;
    let document = app.store.document(&document_id).await?.ok_or_else(missing)?;
    let bytes = app.documents.read(&document).await?;
    let headers = [
        (header::CONTENT_TYPE, document.content_type),
        (header::CACHE_CONTROL, "private, no-store".to_owned()),
        // Written by a model: shown as text, whatever it looks like.
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff".to_owned()),
        (header::CONTENT_SECURITY_POLICY, "sandbox; default-src 'none'".to_owned()),
    ];
    Ok((headers, bytes))
}

const ASK_AGAIN: &str = "ask GET /v1/agents/{id}/plans/{document_id} for a link";
