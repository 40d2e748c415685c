//! What holds of every response, whatever was asked.

use std::collections::HashMap;

use sfv::{BareItem, Item, List, ListEntry, Parser};

use crate::app::TOKEN;
use crate::reply::Reply;

/// Fields that a response has once at most.
const SINGLE: [&str; 10] = [
    "content-length",
    "content-type",
    "date",
    "retry-after",
    "x-ratelimit-limit",
    "x-ratelimit-remaining",
    "x-ratelimit-reset",
    "grpc-status",
    "grpc-message",
    "grpc-retry-pushback-ms",
];

/// What is wrong with a response, if anything is.
pub(crate) fn check(reply: &Reply) -> Result<(), String> {
    for name in SINGLE {
        if reply.lines(name).len() > 1 {
            return Err(format!("{name} has more than one line"));
        }
    }
    // Abuse 27: no secret of ours is told to anybody.
    if reply.fields().any(|(_, value)| value.contains(TOKEN)) || contains(&reply.body, TOKEN.as_bytes()) {
        return Err("the secret is told".into());
    }
    let policies = members(reply, "ratelimit-policy", "q", "w")?;
    let standings = members(reply, "ratelimit", "r", "t")?;
    if let Some(name) = standings.keys().find(|name| !policies.contains_key(*name)) {
        return Err(format!("RateLimit tells of {name:?}, which is no policy"));
    }
    if policies.values().any(|policy| policy.time == Some(0)) {
        return Err("a window is 0".into());
    }
    let numbers = ["retry-after", "x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset"];
    for name in numbers {
        for line in reply.lines(name) {
            if line.is_empty() || !line.bytes().all(|byte| byte.is_ascii_digit()) {
                return Err(format!("{name} is {line:?}"));
            }
        }
    }
    if reply.status == 429 {
        // With several gates, those of which something is left have not refused.
        let is_alone = standings.len() == 1;
        let used_up = standings.values().filter(|standing| is_alone || standing.count == 0);
        refusal(reply, used_up.filter_map(|standing| standing.time).max())?;
    }
    Ok(())
}

/// What a refusal has beside, where all that is used up is there again after this wait.
fn refusal(reply: &Reply, wait: Option<i64>) -> Result<(), String> {
    let after = reply.lines("retry-after").first().map(|line| line.parse::<i64>().unwrap_or(i64::MAX));
    if after.is_some_and(|after| after < wait.unwrap_or(1).max(1)) {
        return Err("Retry-After is earlier than the wait until more is there, or 0".into());
    }
    if reply.lines("cache-control") != ["no-store"] {
        return Err("a refusal may be stored".into());
    }
    if reply.lines("content-type") == ["application/problem+json"]
        && !reply.body.is_empty()
        && serde_json::from_slice::<serde_json::Value>(&reply.body).is_err()
    {
        return Err("the body is no JSON".into());
    }
    Ok(())
}

/// What a member says: `q` and `w`, or `r` and `t`.
struct Member {
    count: i64,
    time: Option<i64>,
}

/// The members of a list of Strings with parameters (RFC 9651), by name: a number that they need, and one that may be
/// there.
fn members(reply: &Reply, field: &str, count: &str, time: &str) -> Result<HashMap<String, Member>, String> {
    let lines = reply.lines(field);
    if lines.is_empty() {
        return Ok(HashMap::new());
    }
    let text = lines.join(", ");
    let list: List = Parser::new(&text).parse().map_err(|error| format!("{field}: {text:?}: {error}"))?;
    if list.is_empty() {
        return Err(format!("{field} is empty"));
    }
    let member = |entry: &ListEntry| {
        let ListEntry::Item(Item { bare_item: BareItem::String(name), params }) = entry else { return None };
        let (mut counted, mut timed) = (None, None);
        for (key, item) in params {
            match (key.as_str(), item) {
                (key, BareItem::Integer(number)) if key == count => counted = Some(i64::from(*number)),
                (key, BareItem::Integer(number)) if key == time => timed = Some(i64::from(*number)),
                ("qu", BareItem::String(_)) | ("pk", BareItem::ByteSequence(_)) => {}
                _ => return None,
            }
        }
        let count = counted.filter(|&count| count >= 0)?;
        timed.is_none_or(|time| time >= 0).then(|| (name.as_str().to_owned(), Member { count, time: timed }))
    };
    let mut members = HashMap::new();
    for entry in &list {
        let (name, member) =
            member(entry).ok_or_else(|| format!("{field}: {text:?}: not as the draft has it"))?;
        if members.insert(name, member).is_some() {
            return Err(format!("{field}: {text:?}: one name twice"));
        }
    }
    Ok(members)
}

fn contains(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(status: u16, fields: &[(&str, &str)]) -> Option<String> {
        let fields: Vec<_> = fields.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
        std::panic::catch_unwind(|| Reply::new(status, fields, Vec::new())).err().map(|_| "a fault".into())
    }

    #[test]
    fn sound_responses_are_found_sound() {
        let policy = ("ratelimit-policy", r#""a";q=5;w=60, "b";q=2;qu="concurrent-requests""#);
        let limit = ("ratelimit", r#""a";r=0;t=7, "b";r=1"#);
        let refusal = [policy, limit, ("retry-after", "7"), ("cache-control", "no-store")];
        assert_eq!(fault(200, &[]), None);
        assert_eq!(fault(200, &[policy, limit]), None);
        assert_eq!(fault(429, &refusal), None);
    }

    #[test]
    fn each_fault_is_found() {
        let policy = ("ratelimit-policy", r#""a";q=5;w=60"#);
        for wrong in [
            "a;q=5;w=60",
            r#""a";q=5;w=0"#,
            r#""a";q=-5;w=60"#,
            r#""a";w=60"#,
            r#""a";q=5.0;w=60"#,
            r#""a" q=5"#,
            r#""a";q=5, "#,
            r#"("a");q=5"#,
            r#""a";q=5, "a";q=6"#,
            r#""a";q=5;x=6"#,
            "",
        ] {
            assert!(fault(200, &[("ratelimit-policy", wrong)]).is_some(), "{wrong}");
        }
        for wrong in [r#""b";r=1"#, r#""a";r=-1"#, r#""a";t=1"#, r#""a";r=1;t=-1"#, r#""a";q=1"#] {
            assert!(fault(200, &[policy, ("ratelimit", wrong)]).is_some(), "{wrong}");
        }
        let limit = ("ratelimit", r#""a";r=0;t=7"#);
        for after in ["6", "0", "-1", "7.5", "", "Mon, 30 Nov 2026 01:00:00 GMT"] {
            let refusal = [policy, limit, ("retry-after", after), ("cache-control", "no-store")];
            assert!(fault(429, &refusal).is_some(), "{after}");
        }
        assert!(fault(429, &[policy, limit, ("retry-after", "7")]).is_some());
        assert!(fault(200, &[("x-told", TOKEN)]).is_some());
        assert!(fault(200, &[("retry-after", "7"), ("retry-after", "7")]).is_some());
    }
}
