//! Persons, by a JWT of the configured OIDC issuer.

mod keys;

use std::sync::Arc;

use jsonwebtoken::{Algorithm, Validation};
use serde_json::{Map, Value};

use self::keys::Keys;
use super::{Actor, Claimed, Principal};
use crate::{app::Clock, cluster::Cluster, problem::Problem};

/// Signatures accepted: asymmetric ones only, so that no published key can sign.
const ALGORITHMS: [Algorithm; 3] = [Algorithm::ES256, Algorithm::RS256, Algorithm::EdDSA];
/// Clock skew allowed between the issuer and us, in seconds.
const LEEWAY_SECONDS: u64 = 30;

/// Which issuer is trusted and how its claims are read.
#[derive(Clone, Debug)]
pub struct Issuer {
    /// Value of `iss`.
    pub url: String,
    /// Value that `aud` must hold.
    pub audience: String,
    /// Where the keys are; by default what the discovery document says.
    pub jwks_url: Option<String>,
    /// Claim that lists a person's workspaces.
    pub workspaces_claim: String,
    /// Claim that lists a person's roles.
    pub roles_claim: String,
}

/// Knows persons by their tokens.
pub struct Persons {
    issuer: Issuer,
    keys: Keys,
    cluster: Arc<Cluster>,
}

impl Persons {
    /// Persons of this issuer.
    pub fn new(issuer: Issuer, http: reqwest::Client, cluster: Arc<Cluster>, clock: Clock) -> Self {
        let keys = Keys::new(http, issuer.url.clone(), issuer.jwks_url.clone(), clock);
        Self { issuer, keys, cluster }
    }

    /// Whether the token says it is of this issuer. Nothing is trusted yet: this only
    /// chooses who checks it.
    pub fn issued(&self, token: &str) -> bool {
        jsonwebtoken::dangerous::insecure_decode_claims::<Map<String, Value>>(token)
            .is_ok_and(|claims| claims.get("iss").and_then(Value::as_str) == Some(&self.issuer.url))
    }

    /// The person of a valid token.
    pub async fn principal(&self, token: &str, claimed: Claimed) -> Result<Principal, Problem> {
        let claims = self.verify(token).await?;
        let subject = claims
            .get("sub")
            .and_then(Value::as_str)
            .filter(|subject| !subject.is_empty())
            .ok_or_else(|| Problem::unauthenticated("the token names no subject"))?;
        let workspaces = strings(&claims, &self.issuer.workspaces_claim);
        let wanted = match claimed.workspace {
            Some(wanted) if !workspaces.contains(&wanted) => {
                return Err(Problem::forbidden(
                    "NotYourWorkspace",
                    format!("the token does not name workspace {wanted:?}"),
                ));
            }
            Some(wanted) => wanted,
            None => workspaces.into_iter().next().ok_or_else(|| {
                Problem::forbidden("NoWorkspace", "the token names no workspace").remedy(format!(
                    "have the issuer list workspaces in the claim {:?}",
                    self.issuer.workspaces_claim
                ))
            })?,
        };
        Ok(Principal {
            subject: subject.to_owned(),
            workspace: self.cluster.workspace(&wanted)?,
            roles: strings(&claims, &self.issuer.roles_claim),
            actor: Actor::Person { agent: claimed.agent },
        })
    }

    async fn verify(&self, token: &str) -> Result<Map<String, Value>, Problem> {
        let header = jsonwebtoken::decode_header(token)
            .map_err(|_| Problem::unauthenticated("the token is not readable"))?;
        if !ALGORITHMS.contains(&header.alg) {
            return Err(Problem::unauthenticated("the token's signature algorithm is not allowed"));
        }
        let kid =
            header.kid.ok_or_else(|| Problem::unauthenticated("the token names no key (kid)"))?;
        let key = self.keys.find(&kid).await?;

        let mut validation = Validation::new(header.alg);
        validation.leeway = LEEWAY_SECONDS;
        validation.validate_nbf = true;
        validation.set_issuer(&[&self.issuer.url]);
        validation.set_audience(&[&self.issuer.audience]);
        validation.set_required_spec_claims(&["exp", "iss", "aud", "sub"]);
        jsonwebtoken::decode::<Map<String, Value>>(token, &key, &validation)
            .map(|token| token.claims)
            // The library's words name the check that failed and never the token.
            .map_err(|error| Problem::unauthenticated(format!("the token is refused: {error}")))
    }
}

/// A claim that holds one string or a list of them.
fn strings(claims: &Map<String, Value>, name: &str) -> Vec<String> {
    match claims.get(name) {
        Some(Value::String(one)) => vec![one.clone()],
        Some(Value::Array(many)) => {
            many.iter().filter_map(Value::as_str).map(str::to_owned).collect()
        }
        _ => Vec::new(),
    }
}
