//! PUT /v1/secrets/{name}.

use axum::extract::Path;
use http::StatusCode;
use orbweaver_accounts::project_secret::purpose;
use orbweaver_engine::HostPatterns;
use orbweaver_store::{SavedSecret, SealedSecret};
use serde::Deserialize;
use serde_json::Value;
use utoipa::ToSchema;

use super::check_name;
use crate::context::Ctx;
use crate::error::{ApiError, BodyErrors, CommonErrors};
use crate::input::Payload;

/// Most secrets of a project.
const MAX_SECRETS: u32 = 100;
/// Length of a value, in bytes. A short one could not be told from other text in a response.
const VALUE_BYTES: std::ops::RangeInclusive<usize> = 8..=8_192;
/// Most hosts of a secret.
const MAX_HOSTS: usize = 20;
/// Seconds after which a project that has too many secrets may try again.
const FULL_RETRY_SECONDS: u64 = 60;

/// A secret.
#[derive(Deserialize, ToSchema)]
#[schema(example = json!({"value": "a-secret-token", "hosts": ["https://api.example.com"]}))]
pub(super) struct SecretRequest {
    /// The value: 8 to 8192 characters of printable ASCII, without spaces at the ends. It is never
    /// returned.
    #[schema(
        min_length = 8,
        max_length = 8192,
        pattern = "^[!-~][ -~]*[!-~]$",
        write_only
    )]
    value: String,
    /// The origins that may receive it, each as scheme, host and, where it is not the scheme's own, port.
    #[schema(min_items = 1, max_items = 20)]
    hosts: Vec<String>,
}

/// Stores a secret for requests of plugins. A plugin that asks for the permission `secrets` and is granted
/// it can have the service send the value in a header to the hosts named here, if its permission `http`
/// covers them too. Exports to a bucket take their access key from secrets. Nobody can read the value again. It is encrypted in the database.
#[utoipa::path(
    put,
    path = "/v1/secrets/{name}",
    tag = "Plugins",
    extensions(("x-extension" = json!(true))),
    params(("name" = String, Path, description = "1 to 64 of: lower-case letters, digits, `-`, `_`", pattern = "^[a-z0-9_-]{1,64}$", example = "crm-token")),
    request_body = SecretRequest,
    responses(
        (status = 201, description = "It is new"),
        (status = 204, description = "It replaced the one of that name"),
        CommonErrors,
        BodyErrors,
    )
)]
pub(super) async fn put_secret(
    ctx: Ctx,
    Path(name): Path<String>,
    payload: Payload<SecretRequest>,
) -> Result<StatusCode, ApiError> {
    check_name(&name)?;
    let SecretRequest { value, hosts } = payload.value;
    let printable = value.bytes().all(|byte| (0x20..0x7f).contains(&byte));
    if !VALUE_BYTES.contains(&value.len()) || !printable || value.trim() != value {
        return Err(ApiError::invalid(
            "value",
            "must be 8 to 8192 characters of printable ASCII without spaces at the ends",
        ));
    }
    check_hosts(&hosts)?;
    let project = ctx.principal.project;
    let sealed = ctx
        .app
        .accounts
        .seal
        .seal(&value, &purpose(project, &name))
        .map_err(|error| ApiError::internal(&error))?;
    let secret = SealedSecret {
        sealed,
        hosts: Value::from(hosts).to_string(),
    };
    let now = ctx.app.clock.now();
    let store = &ctx.app.store;
    let saved = store.save_plugin_secret(project, &name, &secret, MAX_SECRETS, now);
    match saved.await? {
        SavedSecret::Created => Ok(StatusCode::CREATED),
        SavedSecret::Replaced => Ok(StatusCode::NO_CONTENT),
        SavedSecret::Full => Err(ApiError::rate_limited(
            format!("the project has {MAX_SECRETS} secrets, as many as it may have"),
            FULL_RETRY_SECONDS,
        )),
    }
}

fn check_hosts(hosts: &[String]) -> Result<(), ApiError> {
    if hosts.is_empty() || hosts.len() > MAX_HOSTS {
        return Err(ApiError::invalid("hosts", "must be 1 to 20 origins"));
    }
    for (index, host) in hosts.iter().enumerate() {
        let field = format!("hosts[{index}]");
        let has_scheme = host.starts_with("https://") || host.starts_with("http://");
        if !has_scheme || host.contains('*') {
            let rule = "must be one origin, such as https://api.example.com or \
                        https://api.example.com:8443, without `*`";
            return Err(ApiError::invalid(&field, rule));
        }
        HostPatterns::parse(&[host]).map_err(|error| ApiError::invalid(&field, error))?;
    }
    Ok(())
}
