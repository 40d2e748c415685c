use serde::{Serialize, Serializer};
use tollgate::{Clue, Finding};

use crate::mode::Mode;
use crate::watching::kind;
use crate::watching::report::{Held, Report, Throttled};

/// As JSON, an object with these members, of which none is ever left out:
///
/// | member | value |
/// |---|---|
/// | `at` | seconds since 1970, with a fraction |
/// | `mode` | `"enforce"`, `"shadow"` or `"off"` |
/// | `policies` | objects with `name`, `limit` and `window`, in seconds or `null` |
/// | `callers` | objects with the fields of [`Throttled`]; `finding` is `"one caller"`, `"shared address"`, `"own service"` or `"forging"`, `clue` is `"secret fails"`, `"internal routes"` or `null`, and `reason` a sentence for people |
/// | `capacity` | the most callers that are listed |
/// | `lost` | an object of counts, `refusals`, `near`, `callers`, `recoveries` and `details`, as [`Lost`](tollgate::Lost) has them |
impl Serialize for Report {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mode = match self.mode {
            Mode::Enforce => "enforce",
            Mode::Shadow => "shadow",
            Mode::Off => "off",
        };
        let policies =
            self.policies.iter().map(|Held { name, limit, window }| JsonPolicy { name, limit, window });
        Json {
            at: self.at,
            mode,
            policies: policies.collect(),
            callers: self.callers.iter().map(JsonCaller::of).collect(),
            capacity: self.capacity,
            lost: JsonLost {
                refusals: self.lost.refusals,
                near: self.lost.near,
                callers: self.lost.callers,
                recoveries: self.lost.recoveries,
                details: self.lost.details,
            },
        }
        .serialize(serializer)
    }
}

#[derive(Serialize)]
struct Json<'r> {
    at: f64,
    mode: &'static str,
    policies: Vec<JsonPolicy<'r>>,
    callers: Vec<JsonCaller<'r>>,
    capacity: usize,
    lost: JsonLost,
}

#[derive(Serialize)]
struct JsonPolicy<'r> {
    name: &'r str,
    limit: &'r u32,
    window: &'r Option<f64>,
}

#[derive(Serialize)]
struct JsonCaller<'r> {
    id: &'r str,
    address: &'r str,
    finding: &'static str,
    clue: Option<&'static str>,
    reason: &'static str,
    refused: u32,
    missed: u32,
    first: f64,
    last: f64,
    sightings: u32,
    forged: u32,
    internal: u32,
    callers: u16,
    credentials: u8,
}

#[derive(Serialize)]
struct JsonLost {
    refusals: u64,
    near: u64,
    callers: u64,
    recoveries: u64,
    details: u64,
}

impl<'r> JsonCaller<'r> {
    fn of(caller: &'r Throttled) -> Self {
        Self {
            id: &caller.id,
            address: &caller.address,
            finding: kind(caller.finding),
            clue: clue(caller.finding),
            reason: caller.finding.reason(),
            refused: caller.refused,
            missed: caller.missed,
            first: caller.first,
            last: caller.last,
            sightings: caller.sightings,
            forged: caller.forged,
            internal: caller.internal,
            callers: caller.callers,
            credentials: caller.credentials,
        }
    }
}

/// What points to an own service, in words that stay the same whatever is told to people.
const fn clue(finding: Finding) -> Option<&'static str> {
    match finding {
        Finding::OwnService(Clue::SecretFails) => Some("secret fails"),
        Finding::OwnService(Clue::InternalRoutes) => Some("internal routes"),
        _ => None,
    }
}
