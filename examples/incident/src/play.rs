//! Two acts, or three: the same traffic against the API, before and after, and on three nodes.

use std::net::{Ipv4Addr, SocketAddr};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::http::{HeaderValue, StatusCode};
use indicatif::{ProgressBar, ProgressStyle};
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinSet;
use tollgate_axum::Gate;

use crate::api::Api;
use crate::cast::{Place, ROLES, Role};
use crate::client::Client;
use crate::cluster::Cluster;
use crate::gate::gate;
use crate::options::Options;
use crate::report::report;
use crate::token::Token;
use crate::{Error, on, say};

/// What one role was answered in one act.
#[derive(Clone, Default, Debug)]
pub(crate) struct Tally {
    pub(crate) requests: u64,
    pub(crate) passed: u64,
    pub(crate) unauthorized: u64,
    pub(crate) throttled: u64,
    pub(crate) other: u64,
    /// Requests without a response.
    pub(crate) lost: u64,
    /// The first thing that went wrong, for people.
    pub(crate) trouble: Option<String>,
    /// The time from the act's beginning to the last response.
    pub(crate) took: Duration,
}

/// One act: how each role of [`ROLES`] fared.
pub(crate) type Act = [Tally; ROLES.len()];

pub(crate) async fn play(options: &Options, token: &Token) -> Result<ExitCode, Error> {
    let known = gate(options, Some(token))?;
    let requests: usize = ROLES.iter().map(|role| requests(*role, options)).sum();
    let cluster = match &options.redis {
        Some(url) => Some(Cluster::connect(url, options, token).await?),
        None => None,
    };
    let acts = if cluster.is_some() { 3 } else { 2 };
    let progress = ProgressBar::new(acts * requests as u64);
    if let Ok(style) = ProgressStyle::with_template("{msg:6} {bar:50} {pos}/{len} requests, {elapsed}") {
        progress.set_style(style);
    }
    progress.set_message("before");
    let blind = gate(options, None)?;
    let before = act(&[Arc::clone(&blind)], &known, options, token, &progress).await?;
    let throttled = blind.throttled();
    progress.set_message("after");
    let after = act(&[Arc::clone(&known)], &known, options, token, &progress).await?;
    let shared = match &cluster {
        Some(cluster) => {
            progress.set_message("shared");
            let act = act(&cluster.gates, &known, options, token, &progress).await?;
            Some((act, cluster.counts()))
        }
        None => None,
    };
    progress.finish_and_clear();

    let report = report(options.quota(), options.mode(), &before, &after, shared.as_ref(), &throttled);
    say(format_args!("{report}"))?;
    if shared.is_none() {
        say(format_args!("(With --redis URL there is a third act: three nodes that share one budget.)"))?;
    }
    Ok(if report.holds() { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

fn requests(role: Role, options: &Options) -> usize {
    let part = role.part(options.quota().limit());
    usize::from(part.addresses) * part.tasks * part.requests
}

/// Serves the API anew on a node for each limiter, and lets everybody call all of them at once.
async fn act(
    limiters: &[Arc<Gate>],
    guard: &Arc<Gate>,
    options: &Options,
    token: &Token,
    progress: &ProgressBar,
) -> Result<Act, Error> {
    let (mut servers, mut stops) = (Vec::new(), Vec::new());
    for limiter in limiters {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let listener = TcpListener::bind(address).await.map_err(|error| Error::Listen(address, error))?;
        servers.push(listener.local_addr().map_err(|error| Error::Listen(address, error))?);
        let (stop, stopped) = oneshot::channel::<()>();
        let api = Api::new(Arc::clone(limiter), Arc::clone(guard));
        let serving = tokio::spawn(on::serve(options.framework(), listener, api, async {
            let _ = stopped.await;
        }));
        stops.push((stop, serving));
    }

    let (mut tasks, began) = (JoinSet::new(), Instant::now());
    for (index, role) in ROLES.into_iter().enumerate() {
        let part = role.part(options.quota().limit());
        for address in 0..part.addresses {
            let client = Client::new(role.address(address), &servers);
            for task in 0..part.tasks {
                let (client, token, progress) = (client.clone(), token.value()?, progress.clone());
                let calls = (0..part.requests).map(move |request| Place { address, task, request });
                tasks.spawn(async move {
                    let mut tally = perform(role, calls, &client, &token, &progress).await;
                    tally.took = began.elapsed();
                    (index, tally)
                });
            }
        }
    }
    let mut act = Act::default();
    while let Some(done) = tasks.join_next().await {
        match done {
            Ok((index, tally)) => act[index].add(tally),
            // A task that broke off has lost an unknown number of requests.
            Err(error) => act[0].lose(error.to_string()),
        }
    }
    for (stop, serving) in stops {
        let _ = stop.send(());
        serving.abort();
    }
    Ok(act)
}

/// How long somebody waits for a response before it gives up on the rest.
const PATIENCE: Duration = Duration::from_secs(5);

async fn perform(
    role: Role,
    calls: impl Iterator<Item = Place>,
    client: &Client,
    token: &HeaderValue,
    progress: &ProgressBar,
) -> Tally {
    let mut tally = Tally::default();
    let mut is_served = true;
    for place in calls {
        tally.requests += 1;
        progress.inc(1);
        if !is_served {
            tally.lost += 1;
            continue;
        }
        let call = client.call(role.call(place, token));
        let Ok(response) = tokio::time::timeout(PATIENCE, call).await else {
            tally.lose(format!("no response in {PATIENCE:?}: are there file descriptors enough?"));
            is_served = false;
            continue;
        };
        match response {
            Ok(status) if status.is_success() => tally.passed += 1,
            Ok(StatusCode::UNAUTHORIZED) => tally.unauthorized += 1,
            Ok(StatusCode::TOO_MANY_REQUESTS) => tally.throttled += 1,
            Ok(status) => {
                tally.other += 1;
                tally.trouble.get_or_insert_with(|| format!("answered with {status}"));
            }
            Err(error) => tally.lose(error),
        }
    }
    tally
}

impl Tally {
    fn add(&mut self, other: Self) {
        self.requests += other.requests;
        self.passed += other.passed;
        self.unauthorized += other.unauthorized;
        self.throttled += other.throttled;
        self.other += other.other;
        self.lost += other.lost;
        self.trouble = self.trouble.take().or(other.trouble);
        self.took = self.took.max(other.took);
    }

    fn lose(&mut self, why: String) {
        self.lost += 1;
        self.trouble.get_or_insert(why);
    }
}
