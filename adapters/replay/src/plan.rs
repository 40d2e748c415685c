use std::fs;
use std::path::Path;

use tollgate::{Keyer, Origins, Prefixes, Quota};
use tollgate_replay::{Eyes, Format, Own, Owns, Penalty, Place, Policy, Rate};

use crate::Error;
use crate::options::{Algorithm, Options, Trust};
use crate::settings::{Described, Settings, Strikes, Text};

/// What is to be done, all of it checked.
pub(crate) struct Plan {
    pub(crate) places: Vec<Place>,
    pub(crate) format: Option<Format>,
    pub(crate) policies: Vec<Policy>,
    pub(crate) prefixes: Prefixes,
    pub(crate) eyes: Eyes,
}

impl Plan {
    pub(crate) fn new(options: &Options) -> Result<Self, Error> {
        let settings = options.settings.as_deref().map(read).transpose()?.unwrap_or_default();
        let prefixes = Prefixes::new(
            options.v4_prefix.or(settings.v4_prefix).unwrap_or(Prefixes::DEFAULT.v4()),
            options.v6_prefix.or(settings.v6_prefix).unwrap_or(Prefixes::DEFAULT.v6()),
        )?;
        let mut policies = Vec::new();
        for described in &settings.policies {
            policies.push(policy(described, prefixes)?);
        }
        let is_tried = options.fail_if_own_refused || !options.suggest;
        let is_default = policies.is_empty() && options.limit.is_empty() && is_tried;
        let rates: &[Rate] = if is_default { &[DEFAULT] } else { &options.limit };
        for rate in rates {
            policies.push(policy(&described(options, *rate), prefixes)?);
        }
        unique(&policies)?;

        let stdin = [Path::new("-").to_path_buf()];
        let logs = if options.logs.is_empty() { &stdin[..] } else { &options.logs };
        let twice =
            logs.iter().enumerate().find(|(index, log)| logs.iter().take(*index).any(|other| other == *log));
        if let Some((_, log)) = twice {
            return Err(Error::Twice(Place::new(log).name()));
        }
        let eyes = eyes(options, settings)?;
        if options.fail_if_own_refused && eyes.owns.names().is_empty() {
            return Err(Error::NoOwn);
        }
        let format = options.pattern.clone().map(Format::Pattern);
        Ok(Self {
            places: logs.iter().map(|log| Place::new(log)).collect(),
            format: format.or_else(|| options.format.map(crate::options::Known::format)),
            policies,
            prefixes,
            eyes,
        })
    }
}

fn read(path: &Path) -> Result<Settings, Error> {
    let text = fs::read_to_string(path).map_err(|error| Error::ReadSettings(path.into(), error))?;
    toml::from_str(&text).map_err(|error| Error::Settings(path.into(), Box::new(error)))
}

/// Callers are told in full: how much of an address is one is each policy's to say.
fn eyes(options: &Options, settings: Settings) -> Result<Eyes, Error> {
    let given = options.source.clone().or(settings.source);
    let (source, forwarded) = given.map_or_else(Default::default, |from| (from.source, from.header));
    let trust = if options.trust.is_empty() { &settings.trust } else { &options.trust };
    let mut origins: tollgate::OriginsBuilder = Origins::from_source(source);
    for trust in trust {
        origins = match trust {
            Trust::Network(network) => origins.trust_network(network.parse()?),
            Trust::Hops(hops) => origins.trust_hops(*hops),
        };
    }
    let owns: Vec<Own> =
        settings.own.into_iter().map(|Text(own)| own).chain(options.own.iter().cloned()).collect();
    let mut internal = settings.internal;
    internal.extend(options.internal.iter().cloned());
    if internal.is_empty() {
        internal.push("/internal/".into());
    }
    Ok(Eyes {
        origins: origins.build()?,
        forwarded,
        owns: Owns::new(&owns)?,
        internal,
        keyer: Keyer::random(),
    })
}

fn described(options: &Options, rate: Rate) -> Described {
    Described {
        name: None,
        limit: Text(rate),
        algorithm: options.algorithm,
        burst: options.burst,
        v4_prefix: None,
        v6_prefix: None,
        capacity: options.capacity,
        overflow: options.overflow,
        everyone: false,
        exempt_own: options.exempt_own,
        penalty: None,
    }
}

fn policy(described: &Described, prefixes: Prefixes) -> Result<Policy, Error> {
    let Text(rate) = described.limit;
    let (quota, kind) = quota(rate, described.algorithm, described.burst)?;
    let name = described.name.clone().unwrap_or_else(|| {
        let exempt = if described.exempt_own { ", own exempt" } else { "" };
        format!("{rate}{kind}{exempt}")
    });
    quota.validate().map_err(|error| Error::Quota(name.clone(), error))?;
    let mut policy = Policy::new(name, quota);
    policy.prefixes = Prefixes::new(
        described.v4_prefix.unwrap_or(prefixes.v4()),
        described.v6_prefix.unwrap_or(prefixes.v6()),
    )?;
    policy.capacity = described.capacity.unwrap_or(policy.capacity);
    policy.overflow = described.overflow.map_or(policy.overflow, crate::options::WhenFull::overflow);
    policy.everyone = described.everyone;
    policy.exempt_own = described.exempt_own;
    if let Some(Strikes { count, within: Text(within), .. }) = described.penalty {
        let strikes = Quota::new(count, within.0).validate();
        strikes.map_err(|error| Error::Quota(format!("{}, strikes of the penalty", policy.name), error))?;
    }
    policy.penalty = described.penalty.map(|penalty| Penalty {
        strikes: penalty.count,
        within: penalty.within.0.0,
        out: penalty.out.0.0,
    });
    Ok(policy)
}

/// A quota, and how its kind is told in a name.
fn quota(rate: Rate, algorithm: Option<Algorithm>, burst: Option<u32>) -> Result<(Quota, String), Error> {
    let quota = Quota::new(rate.limit, rate.window);
    let algorithm = algorithm.unwrap_or(if burst.is_some() { Algorithm::Gcra } else { Algorithm::Fixed });
    Ok(match (algorithm, burst) {
        (Algorithm::Fixed | Algorithm::Sliding, Some(_)) => return Err(Error::Burst),
        (Algorithm::Fixed, None) => (quota, String::new()),
        (Algorithm::Sliding, None) => (quota.sliding(), ", sliding".into()),
        (Algorithm::Gcra, burst) => {
            let burst = burst.unwrap_or(rate.limit);
            (quota.burst(burst), format!(", burst {burst}"))
        }
        (Algorithm::Promise, burst) => {
            let promise = Quota::at_most(rate.limit).in_any(rate.window);
            (burst.map_or(promise, |burst| promise.burst(burst)), ", in any".into())
        }
    })
}

/// Reports tell policies by their names.
fn unique(policies: &[Policy]) -> Result<(), Error> {
    for (index, policy) in policies.iter().enumerate() {
        if policies.iter().take(index).any(|other| other.name == policy.name) {
            return Err(Error::SameName(policy.name.clone()));
        }
    }
    if policies.len() > MOST_POLICIES { Err(Error::TooManyPolicies) } else { Ok(()) }
}

/// What is tried if nothing is asked for.
const DEFAULT: Rate = Rate { limit: 300, window: tollgate::Nanos::from_secs(60) };
/// Each is a table, and a column of every caller.
pub(crate) const MOST_POLICIES: usize = 16;
