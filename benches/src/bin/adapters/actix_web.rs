use std::error::Error;

use actix_extensible_rate_limit::RateLimiter;
use actix_extensible_rate_limit::backend::SimpleInputFunctionBuilder;
use actix_extensible_rate_limit::backend::memory::InMemoryBackend;
use actix_web::body::MessageBody;
use actix_web::dev::{Service, ServiceResponse};
use actix_web::rt::System;
use actix_web::test::{TestRequest, init_service};
use actix_web::{App, web};
use benches::apps::{self, SECRET, WINDOW, gate, gate_with_all_fields, now, peer};
use benches::rounds::{Contestant, timed};
use tollgate_actix_web::Tollgate;

use crate::{Run, Work};

/// actix-web alone, with ours and with actix-extensible-rate-limit, whose counters are in memory.
pub(crate) fn run(run: &mut Run, work: Work) -> Result<(), Box<dyn Error>> {
    // The other limiter spawns a task that cleans up.
    System::new().block_on(contest(run, work))
}

async fn contest(run: &mut Run, work: Work) -> Result<(), Box<dyn Error>> {
    let (limit, requests) = (work.limit(), run.requests);
    let app = || App::new().route("/", web::get().to(apps::actix_web));
    let request = |index, work| {
        let request = TestRequest::get().uri("/").peer_addr(peer(index));
        let request = request.insert_header(("host", "api.example.org"));
        match work {
            Work::Exempt => request.insert_header(("x-internal-token", SECRET)).to_request(),
            Work::Admitted | Work::Refused => request.to_request(),
        }
    };
    let of = |service, status| round(service, request, requests, work, status);
    let bare = init_service(app()).await;
    let ours = async |gate| init_service(app().wrap(Tollgate::new(gate))).await;
    let mut contestants: Vec<Contestant<'_>> = vec![
        ("bare", round(bare, request, requests, work, 200)),
        ("tollgate, all fields", of(ours(gate_with_all_fields(limit)?).await, work.status())),
    ];
    if work == Work::Admitted {
        let two = init_service(app().wrap_fn(apps::actix_web_ready::<2, _, _>)).await;
        let five = init_service(app().wrap_fn(apps::actix_web_ready::<5, _, _>)).await;
        let least = init_service(app().wrap_fn(apps::actix_web_least)).await;
        contestants.push(("one that adds two ready fields", round(two, request, requests, work, 200)));
        contestants.push(("one that adds five ready fields", round(five, request, requests, work, 200)));
        contestants.push(("the least limiter", round(least, request, requests, work, 200)));
        let parts = init_service(app().wrap_fn(apps::actix_web_parts)).await;
        contestants.push(("the parts by hand", round(parts, request, requests, work, 200)));
    }
    if work == Work::Refused {
        let refused = init_service(app().wrap_fn(apps::actix_web_refused)).await;
        let refused = round(refused, request, requests, work, 429);
        contestants.push(("a layer with a ready refusal", refused));
        let by_hand = init_service(app().wrap_fn(apps::actix_web_by_hand)).await;
        contestants.push(("the parts by hand", round(by_hand, request, requests, work, 429)));
    }
    if work != Work::Exempt {
        let default = ours(gate(limit).build()?.into()).await;
        let no_fields = ours(gate(limit).rate_limit_fields(false).build()?.into()).await;
        contestants.push(("tollgate, default fields", of(default, work.status())));
        contestants.push(("tollgate, no fields", of(no_fields, work.status())));
        let input = || SimpleInputFunctionBuilder::new(WINDOW, limit.into()).peer_ip_key().build();
        let builder = || RateLimiter::builder(InMemoryBackend::builder().build(), input());
        let with = init_service(app().wrap(builder().add_headers().build())).await;
        let without = init_service(app().wrap(builder().build())).await;
        let name = "actix-extensible-rate-limit, with headers";
        contestants.push((name, round(with, request, requests, work, work.status())));
        let name = "actix-extensible-rate-limit, no headers";
        contestants.push((name, round(without, request, requests, work, work.status())));
    }
    run.take("actix-web", work, contestants)
}

fn round<'c, R, S, B>(
    service: S,
    request: impl Fn(usize, Work) -> R + 'c,
    requests: usize,
    work: Work,
    status: u16,
) -> Box<dyn FnMut() -> Result<f64, Box<dyn Error>> + 'c>
where
    S: Service<R, Response = ServiceResponse<B>, Error = actix_web::Error> + 'c,
    B: MessageBody,
{
    let mut is_first = true;
    Box::new(move || {
        // In the very first round of whoever is to be refused, each address is admitted once.
        let known = std::mem::replace(&mut is_first, false);
        timed(requests, |index| {
            let answered = now(service.call(request(index, work))).and_then(Result::ok);
            answered.is_some_and(|response| known || response.status().as_u16() == status)
        })
    })
}
