//! The interface `hooking`, which hooks export: its calls, on worker threads and as tasks, with
//! conversions between the WIT package's types and the engine's.

use wasmtime::Store;
use wasmtime::component::Resource;

use super::bindings::extractor::orbweaver::plugin::types::Error as WitError;
use crate::capability::pages::HostPage;
use crate::hook::{
    Discovery, FoundLink, LinkVerdict, RecordVerdict, RequestChange, ResponseVerdict, RetryLater,
    Visit, WantedUrl,
};
use crate::state::State;

/// The outer error is a trap or a limit, the inner one the guest's answer.
type Called<T> = wasmtime::Result<Result<T, WitError>>;

macro_rules! calls {
    ($(#[$doc:meta])* $module:ident, $bindings:ident, [$($async:tt)?], [$($await:tt)*]) => {
        $(#[$doc])*
        pub(crate) mod $module {
            use super::super::bindings::$bindings::Hook;
            use super::super::bindings::$bindings::exports::orbweaver::plugin::hooking as wit;
            use super::{
                Called, Discovery, FoundLink, HostPage, LinkVerdict, RecordVerdict, RequestChange,
                Resource, ResponseVerdict, RetryLater, State, Store, Visit, WantedUrl,
            };

            fn visit(visit: &Visit) -> wit::Visit {
                wit::Visit {
                    url: visit.url.clone(),
                    status: (visit.status > 0).then_some(visit.status),
                    depth: visit.depth,
                    attempts: visit.attempts,
                }
            }

            fn wanted(url: wit::WantedUrl) -> WantedUrl {
                WantedUrl {
                    url: url.url,
                    priority: url.priority,
                }
            }

            pub(crate) $($async)? fn response(
                store: &mut Store<State>,
                hook: &Hook,
                config: &str,
                at: &Visit,
                page: Resource<HostPage>,
            ) -> Called<ResponseVerdict> {
                let answer = hook
                    .orbweaver_plugin_hooking()
                    .call_response(store, &config.to_owned(), &visit(at), page)$($await)*?;
                Ok(answer.map(|verdict| match verdict {
                    wit::ResponseVerdict::Accept => ResponseVerdict::Accept,
                    wit::ResponseVerdict::Retry(retry) => ResponseVerdict::Retry(RetryLater {
                        delay_ms: retry.delay_ms,
                        reason: retry.reason,
                    }),
                    wit::ResponseVerdict::Drop(reason) => ResponseVerdict::Drop(reason),
                }))
            }

            pub(crate) $($async)? fn record(
                store: &mut Store<State>,
                hook: &Hook,
                config: &str,
                at: &Visit,
                page: Resource<HostPage>,
                outputs: &[(String, String)],
                records: &[String],
            ) -> Called<RecordVerdict> {
                let outputs: Vec<wit::RoleOutput> = outputs
                    .iter()
                    .map(|(role, data)| wit::RoleOutput {
                        role: role.clone(),
                        data: data.clone(),
                    })
                    .collect();
                let answer = hook
                    .orbweaver_plugin_hooking()
                    .call_record(store, &config.to_owned(), &visit(at), page, &outputs, records)$($await)*?;
                Ok(answer.map(|verdict| match verdict {
                    wit::RecordVerdict::Keep => RecordVerdict::Keep,
                    wit::RecordVerdict::Emit(records) => RecordVerdict::Emit(records),
                    wit::RecordVerdict::Replace(records) => RecordVerdict::Replace(records),
                    wit::RecordVerdict::Drop(reason) => RecordVerdict::Drop(reason),
                }))
            }

            pub(crate) $($async)? fn discover(
                store: &mut Store<State>,
                hook: &Hook,
                config: &str,
                at: &Visit,
                page: Resource<HostPage>,
                links: &[&FoundLink],
            ) -> Called<Discovery> {
                let links: Vec<wit::FoundLink> = links
                    .iter()
                    .map(|link| wit::FoundLink {
                        url: link.url.clone(),
                        anchor: link.anchor.clone(),
                        rel: link.rel.clone(),
                        nofollow: link.nofollow,
                    })
                    .collect();
                let answer = hook
                    .orbweaver_plugin_hooking()
                    .call_discover(store, &config.to_owned(), &visit(at), page, &links)$($await)*?;
                Ok(answer.map(|discovery| Discovery {
                    verdicts: discovery
                        .verdicts
                        .into_iter()
                        .map(|verdict| match verdict {
                            wit::LinkVerdict::Follow(priority) => LinkVerdict::Follow(priority),
                            wit::LinkVerdict::Skip(reason) => LinkVerdict::Skip(reason),
                            wit::LinkVerdict::Rewrite(url) => LinkVerdict::Rewrite(wanted(url)),
                        })
                        .collect(),
                    added: discovery.added.into_iter().map(wanted).collect(),
                }))
            }

            pub(crate) $($async)? fn request(
                store: &mut Store<State>,
                hook: &Hook,
                config: &str,
                url: &str,
                depth: u32,
                attempts: u32,
            ) -> Called<RequestChange> {
                let request = wit::Outgoing {
                    url: url.to_owned(),
                    depth,
                    attempts,
                };
                let answer = hook
                    .orbweaver_plugin_hooking()
                    .call_request(store, &config.to_owned(), &request)$($await)*?;
                Ok(answer.map(|change| RequestChange {
                    headers: change
                        .headers
                        .into_iter()
                        .map(|header| (header.name, header.value))
                        .collect(),
                    cookies: change.cookies,
                    user_agent: change.user_agent,
                }))
            }
        }
    };
}

calls! {
    /// Calls on worker threads.
    pooled, hook, [], []
}
calls! {
    /// Calls as tasks.
    on_demand, hook_async, [async], [.await]
}
