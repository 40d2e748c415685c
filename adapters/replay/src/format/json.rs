//! JSON lines. Each kind of log is a table of the names that it gives to the same few things.

use std::borrow::Cow;
use std::net::IpAddr;

use serde_json::Value;
use tollgate::Nanos;

use crate::record::{Fault, MOST_FIELDS, Record, Wanted, address, is_header, path, present};
use crate::stamp::Stamps;

/// Where a kind of JSON log keeps what; names in order of preference, those inside an object after a dot.
#[derive(PartialEq, Eq, Debug)]
pub(super) struct Keys {
    time: &'static [&'static str],
    peer: &'static [&'static str],
    /// The whole request line.
    request: &'static [&'static str],
    path: &'static [&'static str],
    agent: &'static [&'static str],
    status: &'static [&'static str],
    /// An object of headers.
    headers: Option<&'static str>,
}

/// Reads a value that was a line.
pub(super) fn record<'v>(
    value: &'v Value,
    keys: &Keys,
    wanted: &Wanted,
    stamps: &mut Stamps,
) -> Result<Record<'v>, Fault> {
    let object = value.as_object().ok_or(Fault::Shape)?;
    let time = first(value, keys.time).ok_or(Fault::Shape)?;
    let peer = first(value, keys.peer).ok_or(Fault::Shape)?;
    let text = |names| first(value, names).and_then(Value::as_str).map(str::as_bytes);
    let headers = keys.headers.and_then(|name| at(value, name)).and_then(Value::as_object);
    let named = |name: &str| {
        let found = |(key, value): (&'v String, &'v Value)| is_header(key, name).then_some(value);
        headers.and_then(|headers| headers.iter().find_map(found)).or_else(|| object.iter().find_map(found))
    };
    let agent = text(keys.agent).or_else(|| named("User-Agent").and_then(only));
    let mut fields = [None; MOST_FIELDS];
    for (slot, name) in fields.iter_mut().zip(&wanted.fields) {
        *slot = named(name).and_then(only).and_then(present);
    }
    Ok(Record {
        time: stamp(time, stamps).ok_or(Fault::Time)?,
        peer: peer_address(peer).ok_or(Fault::Address)?,
        forwarded: wanted.forwarded.as_ref().and_then(|name| named(name)).and_then(lines),
        agent: agent.and_then(present).unwrap_or_default(),
        path: text(keys.request).map(path).or_else(|| text(keys.path)).unwrap_or_default(),
        status: first(value, keys.status).and_then(status).unwrap_or_default(),
        fields,
    })
}

/// Whether a value has the names of this kind.
pub(super) fn has_keys(value: &Value, keys: &Keys) -> bool {
    first(value, keys.time).is_some() && first(value, keys.peer).is_some()
}

fn first<'v>(value: &'v Value, names: &[&str]) -> Option<&'v Value> {
    names.iter().find_map(|name| at(value, name))
}

fn at<'v>(value: &'v Value, name: &str) -> Option<&'v Value> {
    match name.split_once('.') {
        Some((outer, inner)) => value.get(outer)?.get(inner),
        None => value.get(name),
    }
}

fn stamp(value: &Value, stamps: &mut Stamps) -> Option<Nanos> {
    match value {
        Value::String(text) => stamps.any(text.as_bytes()),
        // Written out, so that a fraction is not rounded twice.
        Value::Number(number) => Stamps::epoch(number.to_string().as_bytes()),
        _ => None,
    }
}

fn peer_address(value: &Value) -> Option<IpAddr> {
    address(value.as_str()?.as_bytes())
}

fn status(value: &Value) -> Option<u16> {
    match value {
        Value::String(text) => text.parse().ok(),
        other => other.as_u64().and_then(|status| u16::try_from(status).ok()),
    }
}

/// A header's value, if it has one; servers that keep all lines of a header write a list.
fn only(value: &Value) -> Option<&[u8]> {
    match value {
        Value::String(text) => Some(text.as_bytes()),
        Value::Array(list) => match list.as_slice() {
            [Value::String(text)] => Some(text.as_bytes()),
            _ => None,
        },
        _ => None,
    }
}

/// All lines of a header, joined.
fn lines(value: &Value) -> Option<Cow<'_, [u8]>> {
    match value {
        Value::Array(list) if list.len() > 1 => {
            let lines: Vec<&str> = list.iter().filter_map(Value::as_str).collect();
            Some(Cow::Owned(lines.join(", ").into_bytes()))
        }
        other => only(other).and_then(present).map(Cow::Borrowed),
    }
}

pub(super) const CADDY: Keys = Keys {
    time: &["ts"],
    peer: &["request.remote_ip", "request.remote_addr"],
    request: &[],
    path: &["request.uri"],
    agent: &[],
    status: &["status"],
    headers: Some("request.headers"),
};

pub(super) const TRAEFIK: Keys = Keys {
    time: &["StartUTC", "StartLocal"],
    peer: &["ClientHost", "ClientAddr"],
    request: &[],
    path: &["RequestPath"],
    agent: &[],
    status: &["DownstreamStatus"],
    headers: None,
};

pub(super) const ENVOY: Keys = Keys {
    time: &["start_time"],
    peer: &["downstream_direct_remote_address", "downstream_remote_address"],
    request: &[],
    path: &["path", "x-envoy-original-path"],
    agent: &["user_agent"],
    status: &["response_code"],
    headers: None,
};

/// nginx with `escape=json`, whose names are its operator's; mostly those of its variables.
pub(super) const NGINX: Keys = Keys {
    time: &["msec", "time_iso8601", "time_local", "timestamp", "@timestamp", "time"],
    peer: &["realip_remote_addr", "remote_addr", "remote_ip", "client_ip", "client", "ip", "peer"],
    request: &["request"],
    path: &["request_uri", "uri", "path"],
    agent: &["http_user_agent", "user_agent", "agent"],
    status: &["status"],
    headers: None,
};
