use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use std::{fmt, iter};

use tollgate::{
    BoxedInFlight, BoxedLimiter, BoxedPenalty, Credentials, Keyer, Nanos, Origins, Overflow, Prefixes, Quota,
    TrustedNetwork,
};

use crate::answer::{Answer, RefusalBody, Wording};
use crate::clock::{Clock, Ticker};
use crate::credential::{CredentialField, MOST_SECRETS, Scheme, is_field_name, is_field_value, is_token68};
use crate::decision::{Decision, ServiceName};
use crate::error::GateError;
use crate::fields::Styles;
use crate::gate::{ChargeIf, Gate, MOST_CLASSES, MOST_NETWORKS, Responder};
use crate::instruments::{Counted, Instruments};
use crate::mode::{Mode, ModeCell};
use crate::name::FieldName;
use crate::notices::Notices;
use crate::policy::{MOST_POLICIES, Policy};
use crate::seldom::Seldom;
use crate::shared::{self, SharedStore};
use crate::source::Source;
use crate::tier::{IN_FLIGHT, Texts, Tier};
use crate::tiers::Tiers;
use crate::upkeep::Upkeep;
use crate::watching::{Addresses, Settings, Watching};

/// Settings of a [`Gate`]. Nothing but the quota has to be set.
///
/// ```
/// use tollgate_http::{Gate, Quota};
///
/// let error = Gate::builder(Quota::per_minute(300)).service("edge", "").build().unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     r#"service "edge": the secret is empty: set it, or leave the service out"#,
/// );
/// ```
#[must_use = "a builder decides nothing: call build()"]
pub struct GateBuilder {
    first: Policy,
    further: Vec<Policy>,
    classes: Vec<Policy>,
    shared: Option<Box<dyn SharedStore>>,
    in_flight: Option<u32>,
    penalty: Option<(u32, Nanos, Nanos)>,
    charge_if: Option<ChargeIf>,
    refunds_inner_refusals: bool,
    responder: Option<Responder>,
    styles: Styles,
    strips_credential: bool,
    capacity: usize,
    source: Source,
    networks: Vec<TrustedNetwork>,
    hops: Option<u8>,
    v4_prefix: u8,
    v6_prefix: u8,
    credentials: Box<Credentials<MOST_SECRETS>>,
    field: CredentialField,
    keyer: Option<Keyer>,
    clock: Clock,
    mode: Mode,
    body: RefusalBody,
    watching: Option<Settings>,
    counted: Counted,
    /// Whether all secrets can stand after `Bearer`.
    bearer_secrets: bool,
    /// The first thing that was wrong, for `build` to tell.
    wrong: Option<GateError>,
}

const DEFAULT_CAPACITY: usize = 65_536;
const DEFAULT_HEADER: &str = "x-internal-token";
const DEFAULT_POLICY_NAME: &str = "default";

impl Gate {
    /// Begins a gate that holds each caller to `quota`.
    pub fn builder(quota: Quota) -> GateBuilder {
        GateBuilder::new(quota)
    }
}

impl GateBuilder {
    fn new(quota: Quota) -> Self {
        Self {
            first: Policy::new(DEFAULT_POLICY_NAME, quota),
            further: Vec::new(),
            classes: Vec::new(),
            shared: None,
            in_flight: None,
            penalty: None,
            charge_if: None,
            refunds_inner_refusals: false,
            responder: None,
            styles: Styles { draft: true, legacy: false },
            strips_credential: false,
            capacity: DEFAULT_CAPACITY,
            source: Source::Peer,
            networks: Vec::new(),
            hops: None,
            v4_prefix: Prefixes::DEFAULT.v4(),
            v6_prefix: Prefixes::DEFAULT.v6(),
            credentials: Box::default(),
            field: CredentialField::header(DEFAULT_HEADER),
            keyer: None,
            clock: Clock::default(),
            mode: Mode::default(),
            body: RefusalBody::default(),
            watching: Some(Settings::default()),
            counted: Counted::default(),
            bearer_secrets: true,
            wrong: None,
        }
    }

    /// How many callers have room at once: 8 bytes for each. Choose twice the callers that you expect in one window.
    /// The default, 65,536, is half a megabyte and enough for 32 thousand callers.
    pub fn capacity(mut self, callers: usize) -> Self {
        self.capacity = callers;
        self
    }

    /// What happens to a newcomer that finds no room. The default, [`Overflow::Inherit`], never lets a throttled
    /// caller flush its own count.
    pub fn overflow(mut self, overflow: Overflow) -> Self {
        self.first.overflow = overflow;
        self
    }

    /// Where callers' addresses are found. The default is [`Source::Peer`]; any other needs somebody to be trusted.
    ///
    /// ```
    /// use tollgate_http::{Gate, Quota, Source};
    /// let gate = Gate::builder(Quota::per_minute(300))
    ///     .source(Source::XForwardedFor)
    ///     .trust_network("10.0.0.0/8")
    ///     .build()?;
    /// let fields = [("X-Forwarded-For", "6.6.6.6, 198.51.100.1")];
    /// let decision = gate.decide("10.0.0.1".parse().ok(), &fields)?;
    /// assert_eq!(decision.origin().expect("it has a peer").to_string(), "198.51.100.1/32");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Security
    /// Choose the field that your own proxy writes, and make sure that nobody reaches the server but through it.
    pub fn source(mut self, source: Source) -> Self {
        self.source = match source {
            Source::Header(name) => Source::header(name),
            source => source,
        };
        self
    }

    /// Trusts the hosts of a network, `10.0.0.0/8` or one address, to name whom they speak for. Up to 128 networks.
    pub fn trust_network(mut self, network: impl AsRef<str>) -> Self {
        match network.as_ref().parse() {
            Ok(network) => self.networks.push(network),
            Err(error) => {
                let error = GateError::Network { network: network.as_ref().into(), error };
                self.wrong = self.wrong.or(Some(error));
            }
        }
        self
    }

    /// Trusts so many hops, the nearest ones, whatever their addresses: 1 to 32, of which the socket's peer is the
    /// first.
    ///
    /// # Security
    /// Whoever reaches the server without passing so many proxies can name any address as its own.
    pub fn trust_hops(mut self, hops: u8) -> Self {
        self.hops = Some(hops);
        self
    }

    /// How much of an IPv4 address is one caller: 8 to 32 bits. The default is 32, the whole address.
    pub fn v4_prefix(mut self, bits: u8) -> Self {
        self.v4_prefix = bits;
        self
    }

    /// How much of an IPv6 address is one caller: 32 to 128 bits. The default is 64, the least that one connection is
    /// given.
    pub fn v6_prefix(mut self, bits: u8) -> Self {
        self.v6_prefix = bits;
        self
    }

    /// A further limit, which a request must keep beside the others: all or nothing, so that one that is refused is
    /// charged nowhere. Up to three, in this order.
    pub fn policy(mut self, policy: Policy) -> Self {
        self.further.push(policy);
        self
    }

    /// Another quota for the callers of a class, in place of the gate's own: free and paid plans, say. Which class a
    /// caller is of, [`Terms::class`](crate::Terms::class) says. The name is a policy's.
    pub fn class(mut self, name: impl Into<String>, quota: Quota) -> Self {
        self.classes.push(Policy::new(name, quota));
        self
    }

    /// Keeps the budgets of all policies and classes in a store that other nodes use too, so that together they admit no more
    /// than the limits. Gates whose policies have the same names and quotas share their budgets, in one process or several,
    /// so give those of different gates different names. Keys are made by the store's keyer.
    ///
    /// A request whose answer this node does not know waits for the store; in adapters that is all. Own services' requests
    /// never do. What the store can't be asked about is decided as the store was told to, and what is then refused for
    /// [`Reason::Unreachable`](crate::Reason::Unreachable) is answered with 503. Limits of requests under way, penalties and
    /// the report are each node's own, a refused request tells of nothing that remains, and quotas can't be changed while the
    /// gate is in use. Of [`capacity`](Self::capacity) each node has its own.
    pub fn shared(mut self, store: impl SharedStore) -> Self {
        self.shared = Some(Box::new(store));
        self
    }

    /// At most so many requests of one caller under way at once, from 1 to 16,777,215, until the response's head is
    /// there (a body that is streamed after it, or a WebSocket, is no longer counted). One that is refused for it is
    /// charged nothing. Where the table has no room for a newcomer it is refused. Each that is let in costs one more allocation.
    pub fn in_flight(mut self, most: u32) -> Self {
        self.in_flight = Some(most);
        self
    }

    /// Puts a caller out for longer, once it was refused `strikes` times within a `period`. Refusals of requests under
    /// way are no strikes.
    pub fn penalty(mut self, strikes: u32, period: Duration, out: Duration) -> Self {
        self.penalty = Some((strikes, Nanos::from_duration(period), Nanos::from_duration(out)));
        self
    }

    /// Charges a request only if this holds of its response's status: failed logins alone (`|status| status == 401`), or
    /// all but our own failures (`|status| status < 500`).
    ///
    /// A request is charged when it comes, so that no number of them at once exceeds the limit, and given back what it
    /// was charged when its response is there. A client that goes away before that has paid.
    /// An error without a response counts as 500. With gRPC the status is nearly always 200.
    pub fn charge_if(mut self, charge_if: impl Fn(u16) -> bool + Send + Sync + 'static) -> Self {
        self.charge_if = Some(Box::new(charge_if));
        self
    }

    /// Gives back what a request was charged that a gate further inside refuses. The default is to keep it: what stands
    /// between the two, authentication for example, is then protected from whoever is over the inner limit. A request that
    /// must keep several limits at once is better decided by one gate with several [policies](Self::policy).
    pub fn refund_inner_refusals(mut self) -> Self {
        self.refunds_inner_refusals = true;
        self
    }

    /// Makes of each refusal what is sent in its place: another status, another body, further fields. Refusals of gRPC
    /// stay as they are.
    ///
    /// ```
    /// use tollgate_http::{Gate, Quota};
    /// let gate = Gate::builder(Quota::per_minute(300))
    ///     .responder(|answer, _decision| answer.with_status(503).with_body("text/html", "<h1>Slow down</h1>"))
    ///     .build()?;
    /// # Ok::<(), tollgate_http::GateError>(())
    /// ```
    pub fn responder(
        mut self,
        responder: impl Fn(Answer, &Decision) -> Answer + Send + Sync + 'static,
    ) -> Self {
        self.responder = Some(Box::new(responder));
        self
    }

    /// Whether responses carry `RateLimit-Policy` and `RateLimit`
    /// (draft-ietf-httpapi-ratelimit-headers-10). The default is yes.
    pub fn rate_limit_fields(mut self, wanted: bool) -> Self {
        self.styles.draft = wanted;
        self
    }

    /// Whether responses carry `X-RateLimit-Limit`, `X-RateLimit-Remaining` and `X-RateLimit-Reset` (in seconds from
    /// now), of the policy of which the least is left. The default is no.
    pub fn legacy_fields(mut self, wanted: bool) -> Self {
        self.styles.legacy = wanted;
        self
    }

    /// Takes the credential's field from each request before the application sees it, so that no handler logs a secret
    /// or passes it on. Guards of internal routes inside the layer go by its decision. With [`bearer`](Self::bearer) only
    /// a service's own is taken, and your users' tokens stay. The default is to leave it.
    pub fn strip_credential(mut self) -> Self {
        self.strips_credential = true;
        self
    }

    /// The header whose whole value is a service's secret: a name of at most 64 bytes, in any case. The default is
    /// `x-internal-token`.
    pub fn credential_header(mut self, name: impl AsRef<str>) -> Self {
        self.field = CredentialField::header(name.as_ref());
        self
    }

    /// Takes a service's secret from `Authorization: Bearer` instead. Other schemes in that field present nothing;
    /// other bearer tokens (your users') count as forged here, which changes nothing for them but on internal routes.
    pub fn bearer(mut self) -> Self {
        self.field = CredentialField::bearer();
        self
    }

    /// Exempts whoever presents `secret`, as the service `name`. A service may have several secrets, so that they can
    /// be rotated without an outage; 16 secrets fit in all.
    ///
    /// # Security
    /// Whoever has the secret is not limited at all. Take 128 random bits or more (`openssl rand -hex 32`). The copy
    /// that is kept here is wiped when the gate is dropped; the one that you pass is yours to wipe.
    pub fn service(mut self, name: impl AsRef<str>, secret: impl AsRef<[u8]>) -> Self {
        let (name, secret) = (name.as_ref(), secret.as_ref());
        let added = match self.credentials.add(name, secret) {
            Ok(()) if !is_field_value(secret) => Err(GateError::SecretBytes { service: name.into() }),
            Ok(()) => Ok(()),
            Err(error) => Err(GateError::Secret { service: name.into(), error }),
        };
        self.wrong = self.wrong.or(added.err());
        self.bearer_secrets &= is_token68(secret);
        if !self.counted.services.iter().any(|known| known == name) {
            self.counted.services.push(name.into());
        }
        self
    }

    /// Where the time comes from. The default, [`Clock::Coarse`], is replaced by the precise clock where its
    /// resolution matters: see there.
    pub fn clock(mut self, clock: Clock) -> Self {
        self.clock = clock;
        self
    }

    /// The name that responses call the quota by: 1 to 32 printable ASCII characters without `"` and `\`. The default
    /// is `default`. Where several limiters see one request, their names tell them apart.
    pub fn policy_name(mut self, name: impl Into<String>) -> Self {
        self.first.name = name.into();
        self
    }

    /// What is done with verdicts. The default is [`Mode::Enforce`].
    pub fn mode(mut self, mode: Mode) -> Self {
        self.mode = mode;
        self
    }

    /// The keyed hash of addresses. The default has a fresh random seed, or is that of the [shared](Self::shared) store.
    pub fn keyer(mut self, keyer: Keyer) -> Self {
        self.keyer = Some(keyer);
        self
    }

    /// How the body of a refusal is written. The default is [`RefusalBody::ProblemJson`].
    pub fn refusal_body(mut self, body: RefusalBody) -> Self {
        self.body = body;
        self
    }

    /// How callers are named in the [report](Gate::throttled) and in the log. The default is [`Addresses::Truncated`].
    pub fn addresses(self, addresses: Addresses) -> Self {
        self.watched(|settings| settings.addresses = addresses)
    }

    /// Says that paths which begin with this are there for own services alone: `/internal/`. A throttled caller that keeps
    /// asking for them is reported as one that looks like an own service. It closes nothing: that is for
    /// `RequireInternal`. It begins with a slash.
    pub fn internal_route(mut self, prefix: impl Into<String>) -> Self {
        let prefix = prefix.into();
        if !prefix.starts_with('/') {
            self.wrong = self.wrong.or_else(|| Some(GateError::InternalRoute { prefix: prefix.clone() }));
        }
        self.watched(|settings| settings.internal_routes.push(prefix))
    }

    /// The fields by which the report estimates how many distinct callers stand behind an address. The default are
    /// `User-Agent`, `X-Forwarded-For`, `Forwarded`, `Cookie`, `Authorization` and `X-Api-Key`. Left out are the credential's field,
    /// unless users have bearer tokens in it, and the source's where trusted proxies wrote it. Of a value that is longer than 64 bytes its first and last 32 count; nothing of it is kept.
    pub fn hint_fields<N: AsRef<str>>(self, names: impl IntoIterator<Item = N>) -> Self {
        let names = names.into_iter().map(|name| FieldName::new(name.as_ref())).collect();
        self.watched(|settings| settings.hint_fields = names)
    }

    /// Counts what is decided through the facade `metrics`, with the feature of that name: decisions by policy and outcome,
    /// exempt requests by service, forgeries; and, whenever [`Gate::observe`] is called, how full the tables are, newcomers that
    /// found no room, and throttled callers by what they look like. No label is ever an address. The recorder that is
    /// installed when the gate is built is the one.
    #[cfg(feature = "metrics")]
    pub fn metrics(mut self) -> Self {
        self.counted.is_wanted = true;
        self
    }

    /// Keeps no list of throttled callers, which takes 32 KiB, and tells the log nothing of them.
    pub fn without_watch(mut self) -> Self {
        self.watching = None;
        self
    }

    fn watched(mut self, set: impl FnOnce(&mut Settings)) -> Self {
        if let Some(settings) = &mut self.watching {
            set(settings);
        }
        self
    }

    /// Builds the gate.
    ///
    /// # Errors
    /// If any setting can't work; the first is told, with what to do.
    pub fn build(self) -> Result<Gate, GateError> {
        if let Some(wrong) = self.wrong {
            return Err(wrong);
        }
        if self.field.scheme == Scheme::Bearer && !self.bearer_secrets {
            return Err(GateError::BearerSecret);
        }
        if !self.field.is_sendable() {
            return Err(GateError::HeaderName { name: self.field.name.as_str().into() });
        }
        let origins = self.origins()?;
        let prefixes = origins.prefixes();
        let count = 1 + self.further.len();
        if count > MOST_POLICIES {
            return Err(GateError::TooManyPolicies { count });
        }
        if self.classes.len() > MOST_CLASSES {
            return Err(GateError::TooManyClasses { count: self.classes.len() });
        }
        let overflow = self.first.overflow;
        let quota = self.first.quota;
        let all: Vec<_> =
            iter::once(&self.first).chain(&self.further).chain(&self.classes).cloned().collect();
        let quotas = all.iter().map(|policy| policy.quota).collect();
        let tier = |policy| Tier::new(policy, self.capacity, prefixes, self.shared.is_some());
        let first = tier(self.first)?;
        let further = self.further.into_iter().map(tier).collect::<Result<_, _>>()?;
        let classes = self.classes.into_iter().map(|class| tier(class.overflow(overflow)));
        let tiers = Tiers { first, further, classes: classes.collect::<Result<_, _>>()? };
        all_differ(tiers.all().map(|tier| &*tier.name).chain([IN_FLIGHT]))?;
        if tiers.first.is_of_everyone() {
            return Err(GateError::FirstForEveryone);
        }
        let shared =
            self.shared.as_ref().map(|store| shared::budgets(&**store, &all, self.capacity)).transpose()?;
        let keyer = shared::keyer(self.shared.as_deref(), self.keyer)?;
        let table = match tiers.first.kept() {
            Some(kept) => Arc::clone(kept),
            None => counting(quota)?,
        };
        let windows = tiers.all().map(Tier::enforced_window);
        let longest_window = windows.max().unwrap_or(Nanos::ZERO);
        let texts = Texts::new(quotas, &tiers, self.in_flight);
        let enforced = tiers.all().map(Tier::enforced_window);
        let ticker = Ticker::new(self.clock.suited_to(texts.quotas.iter().copied().zip(enforced)));
        for tier in tiers.all() {
            tier.begin(ticker.now());
        }
        let in_flight = self.in_flight.map(|most| BoxedInFlight::with_capacity(most, self.capacity));
        let in_flight = in_flight.transpose().map_err(GateError::InFlight)?;
        let penalty = self
            .penalty
            .map(|(strikes, period, out)| BoxedPenalty::with_capacity(strikes, period, out, self.capacity));
        let penalty = penalty.transpose().map_err(GateError::Penalty)?.map(Upkeep::new);
        if let Some(penalty) = &penalty {
            penalty.rest(ticker.now());
        }
        let services = self.counted.services.iter().map(|name| ServiceName::new(name)).collect();
        let instruments = Instruments::new(self.counted, tiers.all());
        let has_one_table =
            tiers.further.is_empty() && shared.is_none() && in_flight.is_none() && penalty.is_none();
        if self.strips_credential {
            Gate::begin_to_strip();
        }
        Ok(Gate {
            has_one_table,
            instruments,
            table,
            tiers,
            shared,
            texts: Seldom::new(texts),
            changing: Mutex::new(()),
            in_flight,
            most_in_flight: self.in_flight,
            penalty,
            charge_if: self.charge_if,
            refunds_inner_refusals: self.refunds_inner_refusals,
            responder: self.responder,
            styles: self.styles,
            prefixes,
            origins: Box::new(origins),
            source_field: self.source.field().map(FieldName::new),
            source: self.source,
            notices: Notices::new(),
            watching: self.watching.map(|settings| Watching::new(settings, longest_window)),
            credentials: self.credentials,
            services,
            challenge: self.field.challenge(),
            field: self.field,
            strips_credential: self.strips_credential,
            keyer,
            wording: Wording { resolution: ticker.resolution(), body: self.body },
            ticker,
            mode: ModeCell::new(self.mode),
            // ORDERING: only uniqueness counts.
            id: NEXT_ID.fetch_add(1, Ordering::Relaxed),
        })
    }

    fn origins(&self) -> Result<Origins<MOST_NETWORKS>, GateError> {
        if let Source::Header(name) = &self.source
            && !is_field_name(name)
        {
            return Err(GateError::SourceName { name: name.clone() });
        }
        let mut origins = Origins::from_source(self.source.kind());
        for network in &self.networks {
            origins = origins.trust_network(*network);
        }
        if let Some(hops) = self.hops {
            origins = origins.trust_hops(hops);
        }
        Ok(origins.v4_prefix(self.v4_prefix).v6_prefix(self.v6_prefix).build()?)
    }
}

/// A table that nobody is charged in.
fn counting(quota: Quota) -> Result<Arc<Upkeep<BoxedLimiter>>, GateError> {
    let limiter = BoxedLimiter::with_capacity(quota, 1);
    let told = |error| GateError::Limiter { policy: DEFAULT_POLICY_NAME.into(), error };
    Ok(Upkeep::new(limiter.map_err(told)?))
}

fn all_differ<'a>(mut names: impl Iterator<Item = &'a str> + Clone) -> Result<(), GateError> {
    while let Some(name) = names.next() {
        if names.clone().any(|other| other == name) {
            return Err(GateError::SameName { name: name.into() });
        }
    }
    Ok(())
}

static NEXT_ID: AtomicUsize = AtomicUsize::new(0);

impl fmt::Debug for GateBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GateBuilder")
            .field("policy", &self.first)
            .field("further", &self.further)
            .field("capacity", &self.capacity)
            .field("source", &self.source)
            .field("credential_header", &self.field.name)
            .field("secrets", &self.credentials.len())
            .finish_non_exhaustive()
    }
}
