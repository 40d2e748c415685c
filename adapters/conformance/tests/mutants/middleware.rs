//! What an adapter does, right or wrong.

use std::mem;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, OnceLock};

use axum::body::Body;
use axum::extract::{ConnectInfo, MatchedPath, Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use tollgate_conformance::Rule;
use tollgate_http::{Answer, Decision, Field, Fields, Gate, Identity, Merge, NoPeer, Permit, Terms};

use crate::flaw::Flaw;
use crate::lines::{Lines, take};

pub(crate) struct Limiter {
    gate: Arc<Gate>,
    rule: Option<Rule>,
    flaw: Option<Flaw>,
    first_policy: OnceLock<String>,
}

impl Limiter {
    pub(crate) fn new(gate: Arc<Gate>, rule: Option<Rule>, flaw: Option<Flaw>) -> Self {
        Self { gate, rule, flaw, first_policy: OnceLock::new() }
    }

    fn has(&self, flaw: Flaw) -> bool {
        self.flaw == Some(flaw)
    }

    fn peer(&self, request: &Request) -> Option<SocketAddr> {
        let ConnectInfo(mut peer) = *request.extensions().get::<ConnectInfo<SocketAddr>>()?;
        let forwarded = request.headers().get("x-forwarded-for").and_then(|value| value.to_str().ok());
        let leftmost =
            forwarded.and_then(|value| value.split(',').next()).and_then(|address| address.parse().ok());
        if let Some(address) = leftmost.filter(|_| self.has(Flaw::BelievesAnybody)) {
            peer.set_ip(address);
        }
        if self.has(Flaw::HasOneBudget) {
            peer.set_ip(IpAddr::from([127, 0, 0, 1]));
        }
        Some(peer)
    }

    fn terms(&self, request: &Request, peer: Option<SocketAddr>) -> Terms<'_> {
        let terms = match self.rule {
            Some(rule) if !self.has(Flaw::IgnoresTerms) => {
                let route = request.extensions().get().map(MatchedPath::as_str);
                let route = if self.has(Flaw::ScopesByPath) { Some(request.uri().path()) } else { route };
                let field = |name: &str| request.headers().get(name).and_then(|value| value.to_str().ok());
                rule.terms(route, request.method().as_str(), field, self.gate.terms())
            }
            _ => self.gate.terms(),
        };
        match peer {
            Some(peer) if self.has(Flaw::CountsByConnection) => terms.caller(peer.to_string()),
            _ => terms,
        }
    }

    fn decide<'l>(
        &'l self,
        request: &Request,
        lines: &'l Lines,
    ) -> impl Future<Output = Result<(Decision, Option<Permit>), NoPeer>> + use<'l> {
        let peer = self.peer(request);
        let terms = self.terms(request, peer);
        async move {
            let peer = peer.map(|peer| peer.ip());
            if self.has(Flaw::NeverWaits) {
                return terms.admit(peer, lines);
            }
            if self.has(Flaw::CountsTwice) {
                drop(terms.admit_shared(peer, lines).await);
            }
            terms.admit_shared(peer, lines).await
        }
    }

    fn tell(&self, headers: &mut HeaderMap, field: Field<'_>) {
        let (Ok(name), Ok(mut value)) =
            (HeaderName::from_bytes(field.name.as_bytes()), HeaderValue::from_str(field.value))
        else {
            return;
        };
        if self.has(Flaw::BreaksFields) {
            value = HeaderValue::from_str(&field.value.replace('"', "")).unwrap();
        }
        if self.has(Flaw::RemembersThePolicy) && field.name == "ratelimit-policy" {
            value = HeaderValue::from_str(self.first_policy.get_or_init(|| field.value.into())).unwrap();
        }
        if self.has(Flaw::RoundsDown) && field.name == "retry-after" {
            value = (field.value.parse::<u64>().unwrap() - 1).into();
        }
        if self.has(Flaw::Overwrites) {
            headers.insert(name, value);
        } else if field.merge == Merge::Append || self.has(Flaw::AppendsAll) || !headers.contains_key(&name) {
            headers.append(name, value);
        }
    }

    /// The application's response, with the fields of whoever was counted.
    async fn told(&self, permit: Option<Permit>, request: Request, next: Next) -> Response {
        let Some(permit) = permit else { return next.run(request).await };
        let decision = permit.decision().clone();
        let early = self.has(Flaw::ReleasesEarly);
        let (early, permit) = if early { (permit.settle(200, None), None) } else { (None, Some(permit)) };
        let mut under_way = UnderWay { permit, flaw: self.flaw };
        let mut response = next.run(request).await;
        let inner = response.extensions().get().filter(|_| !self.has(Flaw::IgnoresInnerRefusals));
        let fields = match under_way.permit.take() {
            Some(_) if self.has(Flaw::NeverSettles) => self.gate.fields(&decision),
            Some(permit) => permit.settle(response.status().as_u16(), inner),
            None => early,
        };
        if response.status().is_success() || !self.has(Flaw::TellsSuccesses) {
            let fields = fields.iter().flat_map(Fields::iter);
            fields.for_each(|field| self.tell(response.headers_mut(), field));
        }
        if decision.is_over_limit() {
            response.extensions_mut().insert(decision);
        }
        response
    }

    fn answer(&self, answer: &Answer) -> Response {
        let mut response = Response::new(Body::from(answer.body().to_owned()));
        let status = if self.has(Flaw::RefusesWith500) { 500 } else { answer.status() };
        *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        answer.fields().for_each(|field| self.tell(response.headers_mut(), field));
        response
    }
}

/// A request that the application has.
struct UnderWay {
    permit: Option<Permit>,
    flaw: Option<Flaw>,
}

/// Of a request that is not settled the client went away.
impl Drop for UnderWay {
    fn drop(&mut self) {
        match (self.flaw, self.permit.take()) {
            (Some(Flaw::RefundsTheGivenUp), Some(permit)) => drop(permit.settle(200, None)),
            (Some(Flaw::ForgetsTheGivenUp), permit) => mem::forget(permit),
            (_, permit) => drop(permit),
        }
    }
}

pub(crate) async fn limit(State(limiter): State<Arc<Limiter>>, mut request: Request, next: Next) -> Response {
    let (gate, flaw) = (&limiter.gate, limiter.flaw);
    if flaw == Some(Flaw::LogsSecrets) {
        tracing::info!("{:?}", request.headers());
    }
    let lines = Lines::of(&request, flaw);
    let (decision, permit) = match limiter.decide(&request, &lines).await {
        Ok(decided) => decided,
        Err(_) if flaw == Some(Flaw::PassesUnknownPeers) => return next.run(request).await,
        Err(_) => return limiter.answer(&gate.no_peer("The mutant has no advice.")),
    };
    if decision.lacks_peer() {
        gate.tell_uncounted("The mutant has no advice.");
    }
    let refusal = match flaw {
        Some(Flaw::IgnoresGrpc) => gate.refusal(&decision, &()),
        _ => gate.refusal(&decision, &lines),
    };
    if let Some(refusal) = refusal {
        if flaw == Some(Flaw::DecidesLate) {
            next.run(request).await;
        }
        let mut response = limiter.answer(&refusal);
        response.extensions_mut().insert(decision);
        return response;
    }
    if flaw == Some(Flaw::RefusesInShadow) && decision.is_over_limit() {
        return (StatusCode::TOO_MANY_REQUESTS, [("cache-control", "no-store")]).into_response();
    }
    let strips = match flaw {
        Some(Flaw::KeepsCredentials) => false,
        Some(Flaw::TakesCredentials) => true,
        _ => gate.strips_credential(&decision),
    };
    if strips {
        take(gate.credential_header(), &mut request);
    }
    if flaw != Some(Flaw::HidesDecisions) {
        request.extensions_mut().insert(decision.clone());
    }
    limiter.told(permit, request, next).await
}

pub(crate) async fn throttled(State(limiter): State<Arc<Limiter>>, request: Request) -> Response {
    let lines = Lines::of(&request, limiter.flaw);
    let answer = limiter.gate.report_answer(request.method().as_str(), request.uri().query(), &lines);
    let mut response = limiter.answer(&answer);
    if request.method() == "HEAD" {
        // Over HTTP/2, hyper sends what it is given.
        *response.body_mut() = Body::empty();
    }
    response
}

pub(crate) async fn guard(
    State((gate, flaw)): State<(Arc<Gate>, Option<Flaw>)>,
    mut request: Request,
    next: Next,
) -> Response {
    let is_there = request.headers().contains_key(gate.credential_header());
    let lines = Lines::of(&request, flaw);
    let decision = request.extensions().get::<Decision>();
    let service = match (flaw, decision.map(Decision::identity)) {
        (Some(Flaw::GuardsByPresence), _) if is_there => return next.run(request).await,
        (Some(Flaw::GuardsByAnyDecision), Some(Identity::Service(name))) => Some(name.clone()),
        (Some(Flaw::GuardsByAnyDecision), Some(_)) => None,
        _ => gate.internal(decision, &lines),
    };
    let Some(service) = service else {
        return Limiter::new(Arc::clone(&gate), None, None).answer(&gate.unauthorized());
    };
    request.extensions_mut().insert(service);
    next.run(request).await
}
