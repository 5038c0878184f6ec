//! Spans in OTLP's JSON: protobuf's JSON mapping with ids in hexadecimal, see
//! <https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding>.

use std::time::{SystemTime, UNIX_EPOCH};

use opentelemetry::trace::{Event, SpanId, SpanKind, Status};
use opentelemetry::{Array, KeyValue, Value};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::SpanData;
use serde_json::{Value as Json, json};

/// An `ExportTraceServiceRequest`.
pub(super) fn request(resource: &Resource, batch: &[SpanData]) -> Vec<u8> {
    let about: Vec<Json> = resource
        .iter()
        .map(|(key, value)| json!({"key": key.as_str(), "value": any(value)}))
        .collect();
    let spans: Vec<Json> = batch.iter().map(span).collect();
    let scope = batch
        .first()
        .map_or("", |span| span.instrumentation_scope.name());
    let request = json!({"resourceSpans": [{
        "resource": {"attributes": about},
        "scopeSpans": [{"scope": {"name": scope}, "spans": spans}],
    }]});
    request.to_string().into_bytes()
}

fn span(span: &SpanData) -> Json {
    let mut json = json!({
        "traceId": span.span_context.trace_id().to_string(),
        "spanId": span.span_context.span_id().to_string(),
        "flags": span.span_context.trace_flags().to_u8(),
        "name": span.name,
        "kind": kind(&span.span_kind),
        "startTimeUnixNano": nanos(span.start_time),
        "endTimeUnixNano": nanos(span.end_time),
        "attributes": attributes(&span.attributes),
        "droppedAttributesCount": span.dropped_attributes_count,
        "events": span.events.iter().map(event).collect::<Vec<_>>(),
        "droppedEventsCount": span.events.dropped_count,
        "status": status(&span.status),
    });
    if span.parent_span_id != SpanId::INVALID
        && let Some(fields) = json.as_object_mut()
    {
        fields.insert(
            "parentSpanId".to_owned(),
            span.parent_span_id.to_string().into(),
        );
    }
    json
}

fn event(event: &Event) -> Json {
    json!({
        "timeUnixNano": nanos(event.timestamp),
        "name": event.name,
        "attributes": attributes(&event.attributes),
        "droppedAttributesCount": event.dropped_attributes_count,
    })
}

fn attributes(pairs: &[KeyValue]) -> Vec<Json> {
    let pair = |pair: &KeyValue| json!({"key": pair.key.as_str(), "value": any(&pair.value)});
    pairs.iter().map(pair).collect()
}

/// An `AnyValue`.
fn any(value: &Value) -> Json {
    let list = |values: Vec<Json>| json!({"arrayValue": {"values": values}});
    let int = |number: &i64| json!({"intValue": number.to_string()});
    match value {
        Value::Bool(word) => json!({"boolValue": word}),
        Value::I64(number) => int(number),
        Value::F64(number) => json!({"doubleValue": number}),
        Value::String(text) => json!({"stringValue": text.as_str()}),
        Value::Array(Array::Bool(words)) => list(
            words
                .iter()
                .map(|word| json!({"boolValue": word}))
                .collect(),
        ),
        Value::Array(Array::I64(numbers)) => list(numbers.iter().map(int).collect()),
        Value::Array(Array::F64(numbers)) => {
            let value = |number| json!({"doubleValue": number});
            list(numbers.iter().map(value).collect())
        }
        Value::Array(Array::String(texts)) => {
            let value = |text: &opentelemetry::StringValue| json!({"stringValue": text.as_str()});
            list(texts.iter().map(value).collect())
        }
        // Kinds that later versions add.
        other => json!({"stringValue": other.to_string()}),
    }
}

const fn kind(kind: &SpanKind) -> u8 {
    match kind {
        SpanKind::Internal => 1,
        SpanKind::Server => 2,
        SpanKind::Client => 3,
        SpanKind::Producer => 4,
        SpanKind::Consumer => 5,
    }
}

fn status(status: &Status) -> Json {
    match status {
        Status::Unset => json!({}),
        Status::Ok => json!({"code": 1}),
        Status::Error { description } => json!({"code": 2, "message": description}),
    }
}

/// 64-bit numbers are strings in JSON.
fn nanos(time: SystemTime) -> String {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    since.as_nanos().to_string()
}
