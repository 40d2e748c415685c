use std::error::Error;

use benches::apps::{self, SECRET, gate, gate_with_all_fields, now, peer_address};
use benches::by_hand::Refusing;
use benches::rounds::{Contestant, timed};
use http::{HeaderValue, Request, Response};
use http_body_util::Empty;
use hyper::body::Bytes;
use hyper::service::{Service, service_fn};
use tollgate_hyper::Tollgate;

use crate::{Run, Work};

/// hyper alone and with ours. There is no limiter for it alone.
pub(crate) fn run(run: &mut Run, work: Work) -> Result<(), Box<dyn Error>> {
    let (limit, requests) = (work.limit(), run.requests);
    let mut gates = vec![("tollgate, all fields", gate_with_all_fields(limit)?)];
    if work != Work::Exempt {
        gates.push(("tollgate, default fields", gate(limit).build()?.into()));
        gates.push(("tollgate, no fields", gate(limit).rate_limit_fields(false).build()?.into()));
    }
    let bare = move || {
        let service = service_fn(apps::hyper::<Empty<Bytes>>);
        timed(requests, |_| answered(&service, request(work)) == Some(200))
    };
    let mut contestants: Vec<Contestant<'_>> = vec![("bare", Box::new(bare))];
    for (name, floor) in work.floors() {
        let round = move || {
            let service = floor.wrap(service_fn(apps::hyper::<Empty<Bytes>>));
            timed(requests, |_| answered(&service, request(work)) == Some(work.status()))
        };
        contestants.push((name, Box::new(round)));
    }
    if work == Work::Refused {
        let mut is_first = true;
        let by_hand = move || {
            let known = std::mem::replace(&mut is_first, false);
            timed(requests, |index| {
                let service = Refusing::wrap(service_fn(apps::hyper::<Empty<Bytes>>), peer_address(index));
                answered(&service, request(work)).is_some_and(|status| known || status == work.status())
            })
        };
        contestants.push(("the parts by hand", Box::new(by_hand)));
    }
    for (name, gate) in gates {
        let tollgate = Tollgate::new(gate);
        let mut is_first = true;
        let with = move || {
            // In the very first round of whoever is to be refused, each address is admitted once.
            let known = std::mem::replace(&mut is_first, false);
            timed(requests, |index| {
                let service =
                    tollgate.wrap(service_fn(apps::hyper::<Empty<Bytes>>), Some(peer_address(index)));
                let status = answered(&service, request(work));
                status.is_some_and(|status| known || status == work.status())
            })
        };
        contestants.push((name, Box::new(with)));
    }
    run.take("hyper", work, contestants)
}

fn answered<S, B>(service: &S, request: Request<Empty<Bytes>>) -> Option<u16>
where
    S: Service<Request<Empty<Bytes>>, Response = Response<B>>,
{
    let response = now(service.call(request))?.ok()?;
    Some(response.status().as_u16())
}

fn request(work: Work) -> Request<Empty<Bytes>> {
    let mut request = Request::new(Empty::new());
    request.headers_mut().insert("host", HeaderValue::from_static("api.example.org"));
    if work == Work::Exempt {
        request.headers_mut().insert("x-internal-token", HeaderValue::from_static(SECRET));
    }
    request
}
