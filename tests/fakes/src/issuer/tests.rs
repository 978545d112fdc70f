use jsonwebtoken::jwk::JwkSet;
use jsonwebtoken::{Algorithm, DecodingKey, Validation, decode, decode_header};

use super::*;

fn claims(issuer: &Issuer, token: &str) -> Value {
    let keys: JwkSet = serde_json::from_value(issuer.signer.key_document().unwrap()).unwrap();
    let id = decode_header(token).unwrap().kid.unwrap();
    let key = DecodingKey::from_jwk(keys.find(&id).unwrap()).unwrap();
    let mut validation = Validation::new(Algorithm::ES256);
    validation.set_audience(&[AUDIENCE]);
    validation.set_issuer(&[issuer.url()]);
    decode::<Value>(token, &key, &validation).unwrap().claims
}

#[tokio::test]
async fn a_token_is_verified_by_the_key_document_and_says_who_it_is_for() {
    let issuer = Issuer::start().await.unwrap();
    let person = TokenRequest::person("ann", &["foundry-agents"]).with_roles(&["admin"]);
    let claims = claims(&issuer, &issuer.token(&person).unwrap());
    assert_eq!(claims["sub"], "ann");
    assert_eq!(claims["workspaces"], json!(["foundry-agents"]));
    assert_eq!(claims["roles"], json!(["admin"]));
}

#[tokio::test]
async fn a_token_signed_before_a_rotation_still_verifies_after_it() {
    let issuer = Issuer::start().await.unwrap();
    let person = TokenRequest::person("ann", &[]);
    let before = issuer.token(&person).unwrap();
    issuer.rotate().unwrap();
    let after = issuer.token(&person).unwrap();
    assert_ne!(decode_header(&before).unwrap().kid, decode_header(&after).unwrap().kid);
    claims(&issuer, &before);
    claims(&issuer, &after);
}

#[tokio::test]
async fn a_key_kept_in_a_folder_is_the_same_after_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let address = SocketAddr::from(([127, 0, 0, 1], 0));
    let first = Issuer::listen(address, folder.path()).await.unwrap();
    let document = first.signer.key_document().unwrap();
    first.stop().await;
    let second = Issuer::listen(address, folder.path()).await.unwrap();
    assert_eq!(second.signer.key_document().unwrap(), document);
}
