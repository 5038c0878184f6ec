//! Scripts of ours in a page.

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::json;

use super::tab::{Tab, Trouble};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct World {
    execution_context_id: i64,
}

#[derive(Deserialize)]
struct Evaluated<T> {
    result: Answer<T>,
}

#[derive(Deserialize)]
struct Answer<T> {
    value: Option<T>,
}

impl Tab {
    /// Runs a script in the main frame and waits for its promise; `None` if it has no value, as
    /// after an exception. It runs in an isolated world, in which the page cannot replace
    /// functions.
    pub(super) async fn evaluate<T: DeserializeOwned>(
        &self,
        script: &str,
    ) -> Result<Option<T>, Trouble> {
        let session = Some(self.session.as_str());
        let frame = self.watch.with(|state| state.frame.clone());
        let world: World = self
            .connection
            .call(
                session,
                "Page.createIsolatedWorld",
                json!({"frameId": frame, "worldName": "orbweaver"}),
            )
            .await?;
        let script = json!({
            "expression": script,
            "contextId": world.execution_context_id,
            "awaitPromise": true,
            "returnByValue": true,
        });
        let evaluated: Evaluated<T> = self
            .connection
            .call(session, "Runtime.evaluate", script)
            .await?;
        Ok(evaluated.result.value)
    }
}
