use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use tollgate::Presented;

use crate::answer::Answer;
use crate::decision::Identity;
use crate::fields::Merge;
use crate::gate::Gate;
use crate::request::RequestFields;

impl Gate {
    /// Answers a request for the report of throttled callers, as JSON or as a page that stays up to date: what a handler does
    /// with it. With the feature `report`.
    ///
    /// It shows the report to our own services alone: to whoever presents a secret in the gate's field, or as the password of
    /// `Authorization: Basic`, whatever the name, so that a person can open the page in a browser. The query `format=json`
    /// asks for JSON, as does an `Accept` with `application/json` and without `text/html`. The methods are GET and HEAD.
    ///
    /// ```
    /// use tollgate_http::{Gate, Quota};
    /// let gate = Gate::builder(Quota::per_minute(300)).service("on-call", "the secret of people on call").build()?;
    /// let fields = [("X-Internal-Token", "the secret of people on call"), ("Accept", "application/json")];
    /// let answer = gate.report_answer("GET", None, &fields);
    /// assert_eq!(answer.status(), 200);
    /// assert!(answer.body().contains(r#""mode":"enforce","policies":[{"name":"default","limit":300,"window":60.0}]"#));
    /// # Ok::<(), tollgate_http::GateError>(())
    /// ```
    ///
    /// # Security
    /// Put the route outside the limits, or whoever is throttled can't look. A browser sends a password again to all that lies
    /// in the folder of the page, so give it a folder of its own, `/ops/throttled`; give people a service of their own, whose
    /// secret can be changed without touching the others; and serve it over TLS. Addresses are shown as
    /// [`GateBuilder::addresses`](crate::GateBuilder::addresses) says.
    pub fn report_answer(
        &self,
        method: &str,
        query: Option<&str>,
        fields: &(impl RequestFields + ?Sized),
    ) -> Answer {
        let answer = if self.may_see_report(fields) {
            self.shown(method, query, fields)
        } else {
            self.unauthorized().and_field("www-authenticate", BASIC, Merge::Append)
        };
        ALWAYS.iter().fold(answer, |answer, (name, value)| answer.and_field(name, *value, Merge::Keep))
    }

    fn shown(&self, method: &str, query: Option<&str>, fields: &(impl RequestFields + ?Sized)) -> Answer {
        if !METHODS.contains(&method) {
            let advice = "The report can be read, and nothing else: use GET or HEAD.\n";
            return Answer::own(405, PLAIN, advice).and_field("allow", METHODS.join(", "), Merge::Keep);
        }
        match serde_json::to_string(&self.throttled()) {
            Ok(json) if wants_json(query, fields) => Answer::own(200, "application/json", json),
            Ok(json) => page(&json),
            Err(error) => {
                tracing::error!("the report of throttled callers can't be written: {error}");
                Answer::own(500, PLAIN, "The report can't be written; the server's log says why.\n")
            }
        }
    }

    fn may_see_report(&self, fields: &(impl RequestFields + ?Sized)) -> bool {
        let is_own = matches!(self.identify(fields), Identity::Service(_));
        is_own
            || password(fields).is_some_and(|password| {
                matches!(self.credentials.verify(Some(&password)), Presented::Service(_))
            })
    }
}

/// The password of `Authorization: Basic` (RFC 7617). Two such lines present nothing.
fn password(fields: &(impl RequestFields + ?Sized)) -> Option<Vec<u8>> {
    let mut lines = fields.lines("authorization");
    let (Some(line), None) = (lines.next(), lines.next()) else { return None };
    let (scheme, encoded) = line.split_at_checked(BASIC_SCHEME.len())?;
    if !scheme.eq_ignore_ascii_case(BASIC_SCHEME) || encoded.len() > LONGEST_BASIC {
        return None;
    }
    let decoded = BASE64_STANDARD.decode(encoded.trim_ascii()).ok()?;
    let colon = decoded.iter().position(|&byte| byte == b':')?;
    decoded.get(colon + 1..).map(<[u8]>::to_vec)
}

fn wants_json(query: Option<&str>, fields: &(impl RequestFields + ?Sized)) -> bool {
    let accepts = |kind: &str| {
        fields.lines("accept").any(|line| {
            line.split(|&byte| byte == b',').any(|range| {
                let range = range.split(|&byte| byte == b';').next().unwrap_or_default();
                range.trim_ascii().eq_ignore_ascii_case(kind.as_bytes())
            })
        })
    };
    match query.into_iter().flat_map(|query| query.split('&')).find_map(|pair| pair.strip_prefix("format=")) {
        Some(format) => format == "json",
        None => accepts("application/json") && !accepts("text/html"),
    }
}

fn page(json: &str) -> Answer {
    // Within a script's element nothing but `<` could end it, and JSON has that in strings alone.
    let page = PAGE.replacen(PLACE, &json.replace('<', "\\u003c"), 1);
    Answer::own(200, "text/html; charset=utf-8", page)
        .and_field("content-security-policy", POLICY, Merge::Keep)
        .and_field("referrer-policy", "no-referrer", Merge::Keep)
}

/// The page, whole: its styles, its script, and a place for the first report.
const PAGE: &str = include_str!("page.html");
const PLACE: &str = "{{report}}";

/// The page may apply its own styles, run its own script and ask its own server, and nothing else. The hashes are of its two
/// elements; a test computes them.
const POLICY: &str = "default-src 'none'; script-src 'sha256-30ext4b2wRWQBC/pQnJk2DGkmgi2HPDtDJO08c2Msgk='; \
     style-src 'sha256-ISIcz2BdonYfBJ5yQvwP9TuzNgeU/iYvPTUyaO1Z77k='; connect-src 'self'; img-src data:; base-uri 'none'; \
     form-action 'none'; frame-ancestors 'none'";

/// What lets a browser ask for a name and a password.
const BASIC: &str =
    r#"Basic realm="throttled callers: any name, and a service's secret as the password", charset="UTF-8""#;
const BASIC_SCHEME: &[u8] = b"Basic ";
/// A name and a secret of 128 bytes each take 344 digits; more is nobody's.
const LONGEST_BASIC: usize = 1_024;
const METHODS: [&str; 2] = ["GET", "HEAD"];
/// Nobody keeps a copy, guesses another type or takes it for a part of another site's page.
const ALWAYS: [(&str, &str); 3] = [
    ("cache-control", "no-store"),
    ("x-content-type-options", "nosniff"),
    ("cross-origin-resource-policy", "same-origin"),
];
const PLAIN: &str = "text/plain; charset=utf-8";

#[cfg(test)]
mod tests {
    use sha2::{Digest, Sha256};

    use super::*;

    fn source(element: &str) -> String {
        let (begin, end) = (format!("<{element}>"), format!("</{element}>"));
        let (_, rest) = PAGE.split_once(&begin).unwrap();
        let (inside, rest) = rest.split_once(&end).unwrap();
        assert!(!rest.contains(&begin), "there is a second one");
        format!("'sha256-{}'", BASE64_STANDARD.encode(Sha256::digest(inside)))
    }

    #[test]
    fn the_policy_allows_what_is_in_the_page() {
        for element in ["script", "style"] {
            let source = source(element);
            assert!(POLICY.contains(&format!("{element}-src {source};")), "{element}-src {source}");
        }
    }

    // Whatever is shown goes through `textContent`, and nothing comes from elsewhere.
    #[test]
    fn the_page_makes_no_markup_and_names_no_other_place() {
        for forbidden in [
            "innerHTML",
            "outerHTML",
            "insertAdjacent",
            "document.write",
            "eval(",
            "://",
            "src=",
            "@import",
            "url(",
        ] {
            assert!(!PAGE.contains(forbidden), "{forbidden}");
        }
        assert_eq!(PAGE.matches(PLACE).count(), 1);
    }

    fn presented(line: &str) -> Option<Vec<u8>> {
        password(&[("authorization", line)])
    }

    #[test]
    fn a_password_is_what_follows_the_first_colon() {
        // "me:a:b", and "a:b" without a name.
        for line in ["Basic bWU6YTpi", "basic bWU6YTpi", "BASIC   bWU6YTpi "] {
            assert_eq!(presented(line).as_deref(), Some(&b"a:b"[..]), "{line}");
        }
        assert_eq!(presented("Basic OmE=").as_deref(), Some(&b"a"[..]));
        for line in [
            "",
            "Basic",
            "Basic ",
            "Basicb",
            "Basic bWU=",
            "Basic bWU6YTpi!",
            "Basic bWU6YTp",
            "Bearer bWU6YTpi",
        ] {
            assert_eq!(presented(line), None, "{line}");
        }
        assert_eq!(presented(&format!("Basic {}", "YTph".repeat(300))), None);
        assert_eq!(password(&[("authorization", "Basic OmE="), ("authorization", "Basic OmE=")]), None);
        assert_eq!(password(&()), None);
    }

    #[test]
    fn the_query_goes_before_what_is_accepted() {
        for (query, accept, is_json) in [
            (None, "application/json", true),
            (None, "text/plain, Application/JSON;q=0.9", true),
            (None, "text/html,application/xhtml+xml,application/json;q=0.9", false),
            (None, "*/*", false),
            (None, "", false),
            (Some("format=json"), "text/html", true),
            (Some("a=b&format=json"), "", true),
            (Some("format=html"), "application/json", false),
            (Some("xformat=json"), "", false),
        ] {
            assert_eq!(wants_json(query, &[("accept", accept)]), is_json, "{query:?} {accept}");
        }
        assert!(!wants_json(None, &()));
    }
}
