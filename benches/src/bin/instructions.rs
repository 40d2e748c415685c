//! One kind of work, so many times: `instructions WORK COUNT`. `ci/instructions` counts its instructions under callgrind,
//! twice, so that what surrounds the work cancels out. They are the same on every run of one compiler, where times are
//! not. That a gate runs under valgrind at all is seen here too.

use std::env;
use std::error::Error;
use std::hint::black_box;
use std::net::IpAddr;

use benches::apps::{self, SECRET, gate, now};
use benches::subjects::{KEYER, address};
use http::{HeaderValue, Request};
use http_body_util::Empty;
use hyper::body::Bytes;
use hyper::service::{Service, service_fn};
use tollgate::{BoxedLimiter, Credentials, Nanos, Presented, Quota};
use tollgate_hyper::Tollgate;

const NOW: Nanos = Nanos(1 << 40);

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = env::args().skip(1);
    let (Some(work), Some(count)) = (arguments.next(), arguments.next()) else {
        return Err(
            "usage: instructions WORK COUNT, where WORK is one of those in benches/instructions.tsv".into()
        );
    };
    let count: u32 = count.parse()?;
    let quota = Quota::per_minute(4_000_000);
    match work.as_str() {
        "hot-admitted" => hot(&BoxedLimiter::with_capacity(quota, 1 << 10)?, count),
        "hot-admitted-gcra" => hot(&BoxedLimiter::with_capacity(quota.burst(1_000_000), 1 << 10)?, count),
        "hot-admitted-sliding" => {
            let quota = Quota::per_minute(65_535).sliding();
            hot(&BoxedLimiter::with_capacity(quota, 1 << 10)?, count);
        }
        "hot-refused" => hot(&BoxedLimiter::with_capacity(Quota::per_minute(1), 1 << 10)?, count),
        "insert" => insert(&BoxedLimiter::with_capacity(quota, 1 << 20)?, count),
        "overflow" => insert(&BoxedLimiter::with_capacity(quota, 1 << 4)?, count),
        "exempt" => exempt(count)?,
        "hyper-admitted" => serve(4_000_000, &[], count)?,
        "hyper-refused" => serve(1, &[], count)?,
        "hyper-exempt" => serve(1, &[SECRET], count)?,
        _ => {
            return Err(
                format!("no work is called {work:?}: use one of those in benches/instructions.tsv").into()
            );
        }
    }
    Ok(())
}

/// Requests of one caller through a gate before hyper's service.
fn serve(limit: u32, secrets: &[&'static str], count: u32) -> Result<(), Box<dyn Error>> {
    let tollgate = Tollgate::new(gate(limit).build()?);
    let service = tollgate.wrap(service_fn(apps::hyper::<Empty<Bytes>>), Some(address(7)));
    for _ in 0..count {
        let mut request = Request::new(Empty::new());
        for secret in secrets {
            request.headers_mut().insert("x-internal-token", HeaderValue::from_static(secret));
        }
        let _ = black_box(now(service.call(request)));
    }
    Ok(())
}

/// One caller, over and over.
fn hot(limiter: &BoxedLimiter, count: u32) {
    let caller = address(7);
    for _ in 0..count {
        decide(limiter, caller);
    }
}

/// A caller once, in a table with room or without.
fn insert(limiter: &BoxedLimiter, count: u32) {
    for caller in 0..count {
        decide(limiter, address(caller));
    }
}

#[inline(never)]
fn decide(limiter: &BoxedLimiter, caller: IpAddr) {
    black_box(&limiter.check(KEYER.address(black_box(caller)), Presented::Absent, black_box(NOW)));
}

/// The last of four secrets.
fn exempt(count: u32) -> Result<(), Box<dyn Error>> {
    let mut credentials = Credentials::<4>::default();
    let secrets: Vec<_> = (0..4).map(|n| format!("{n:064}")).collect();
    for secret in &secrets {
        credentials.add("service", secret.as_bytes())?;
    }
    let secret = secrets.last().ok_or("four secrets")?.as_bytes();
    for _ in 0..count {
        let _ = black_box(credentials.verify(Some(black_box(secret))));
    }
    Ok(())
}
