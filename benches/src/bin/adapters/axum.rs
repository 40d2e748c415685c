use std::error::Error;
use std::net::SocketAddr;

use axum::Router;
use axum::body::Body;
use axum::extract::ConnectInfo;
use benches::apps::{self, SECRET, gate, gate_with_all_fields, now, peer};
use benches::by_hand::Refusing;
use benches::rounds::{Contestant, timed};
use http::{HeaderValue, Request};
use tollgate_axum::TollgateLayer;
use tower_governor::GovernorLayer;
use tower_governor::governor::GovernorConfigBuilder;
use tower_service::Service;

use crate::{Run, Work};

/// axum alone, with ours and with `tower_governor`.
pub(crate) fn run(run: &mut Run, work: Work) -> Result<(), Box<dyn Error>> {
    let (limit, requests) = (work.limit(), run.requests);
    let of = |app, status| round(app, requests, work, status);
    let ours = |gate| apps::axum().layer(TollgateLayer::new(gate));
    let mut contestants: Vec<Contestant<'_>> = vec![
        ("bare", of(apps::axum(), 200)),
        ("tollgate, all fields", of(ours(gate_with_all_fields(limit)?), work.status())),
    ];
    for (name, floor) in work.floors() {
        contestants.push((name, of(apps::axum().layer(floor), work.status())));
    }
    if work == Work::Refused {
        contestants.push(("the parts by hand", of(apps::axum().layer(Refusing::LAYER), work.status())));
    }
    if work != Work::Exempt {
        let default = ours(gate(limit).build()?.into());
        let no_fields = ours(gate(limit).rate_limit_fields(false).build()?.into());
        contestants.push(("tollgate, default fields", of(default, work.status())));
        contestants.push(("tollgate, no fields", of(no_fields, work.status())));
        let mut builder = GovernorConfigBuilder::default();
        let period = benches::apps::WINDOW / limit;
        let theirs = builder.period(period).burst_size(limit);
        let without = theirs.finish().ok_or("tower_governor takes no limit of 0")?;
        let with = theirs.use_headers().finish().ok_or("tower_governor takes no limit of 0")?;
        let without = apps::axum().layer(GovernorLayer::new(without));
        let with = apps::axum().layer(GovernorLayer::new(with));
        contestants.push(("tower_governor, with headers", of(with, work.status())));
        contestants.push(("tower_governor, no headers", of(without, work.status())));
    }
    run.take("axum", work, contestants)
}

fn round<'c>(
    mut app: Router,
    requests: usize,
    work: Work,
    status: u16,
) -> Box<dyn FnMut() -> Result<f64, Box<dyn Error>> + 'c> {
    let mut is_first = true;
    Box::new(move || {
        // In the very first round of whoever is to be refused, each address is admitted once.
        let known = std::mem::replace(&mut is_first, false);
        timed(requests, |index| {
            let answered = now(app.call(request(index, work))).and_then(Result::ok);
            answered.is_some_and(|response| known || response.status().as_u16() == status)
        })
    })
}

fn request(index: usize, work: Work) -> Request<Body> {
    let mut request = Request::new(Body::empty());
    request.extensions_mut().insert(ConnectInfo::<SocketAddr>(peer(index)));
    request.headers_mut().insert("host", HeaderValue::from_static("api.example.org"));
    if work == Work::Exempt {
        request.headers_mut().insert("x-internal-token", HeaderValue::from_static(SECRET));
    }
    request
}
