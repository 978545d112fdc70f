//! Keys of this installation's own making, the same for every replica and after every
//! restart.

use jiff::Timestamp;

use crate::store::write;
use crate::{Error, Store};

const INSERT: &str = "\
    INSERT INTO signing_key (purpose, key, created_at) VALUES ($1, $2, $3) \
    ON CONFLICT (purpose) DO NOTHING";
const GET: &str = "SELECT key FROM signing_key WHERE purpose = $1";

impl Store {
    /// The key for `purpose`: `candidate`, if there has been none yet. It is opaque
    /// text.
    pub async fn signing_key(
        &self,
        purpose: &str,
        candidate: &str,
        now: Timestamp,
    ) -> Result<String, Error> {
        let failed = |source| Error::statement("keep signing key", source);
        Ok(write!(self, "keep signing key", transaction => {
            sqlx::query(INSERT)
                .bind(purpose)
                .bind(candidate)
                .bind(now.as_microsecond())
                .execute(&mut *transaction)
                .await
                .map_err(failed)?;
            sqlx::query_scalar(GET)
                .bind(purpose)
                .fetch_one(&mut *transaction)
                .await
                .map_err(failed)?
        }))
    }
}
