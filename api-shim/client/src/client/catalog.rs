//! Tools, models, harnesses and the caller.

use super::Client;
use crate::{
    error::ClientError,
    wire::{HarnessView, Me, ModelList, ToolList},
};

impl Client {
    /// `GET /v1/tools`.
    pub async fn list_tools(&self) -> Result<ToolList, ClientError> {
        self.get("list tools", self.url(&["v1", "tools"])).await
    }

    /// `GET /v1/models`.
    pub async fn list_models(&self) -> Result<ModelList, ClientError> {
        self.get("list models", self.url(&["v1", "models"])).await
    }

    /// `GET /v1/harnesses/{id}`.
    pub async fn get_harness(&self, id: &str) -> Result<HarnessView, ClientError> {
        self.get("get harness", self.url(&["v1", "harnesses", id])).await
    }

    /// `GET /v1/me`.
    pub async fn me(&self) -> Result<Me, ClientError> {
        self.get("get me", self.url(&["v1", "me"])).await
    }

    /// Base of the relay: `…/v1/relay`, for a model transport to append
    /// `/messages` or `/chat/completions`.
    pub fn relay_url(&self) -> url::Url {
        self.url(&["v1", "relay"])
    }
}
