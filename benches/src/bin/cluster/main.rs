//! A budget shared by up to a thousand nodes with up to ten million callers, on paper time: what the store has to do, what
//! can be stranded and what a decision waits, against the number of nodes. Draws `docs/cluster.svg`.
//!
//! Leases are the crate's own; the store is a map. A round trip takes half a millisecond and what it waits in a queue
//! before a server of 60,000 scripts a second (M/M/1).

mod model;
mod plot;

use std::error::Error;
use std::process::ExitCode;
use std::time::Instant;

use benches::Report;
use tollgate::{Nanos, Quota};

use model::Cluster;

/// Scripts a second that one server does: what `redis` measures, rounded down.
pub(crate) const SERVER: f64 = 60_000.0;
/// Requests a second that each node gets.
const LOAD: u64 = 200;
const NODES: [usize; 7] = [1, 3, 10, 30, 100, 300, 1_000];
const CALLERS: u64 = 10_000_000;
/// A little less than a window, so that no caller has two.
const SPAN: Nanos = Nanos::from_secs(59);
/// A round trip, in milliseconds.
const ROUND_TRIP: f64 = 0.5;

/// What is drawn for one number of nodes.
#[derive(Clone, Copy)]
pub(crate) struct Point {
    pub(crate) nodes: f64,
    /// Scripts a second.
    pub(crate) operations: f64,
    /// The largest share of a limit that nodes held unspent at one time, in per cent.
    pub(crate) held: f64,
    /// The mean wait of a decision in milliseconds, where one server is enough.
    pub(crate) wait: Option<f64>,
}

/// A kind of traffic.
const SCENES: [(&str, Quota, u64, bool); 4] = [
    ("10 million callers, 300 a minute, any node", Quota::per_minute(300), CALLERS, false),
    ("10 million callers, 300 a minute, each at its node", Quota::per_minute(300), CALLERS, true),
    ("100 tenants, 1 million a minute, any node", Quota::per_minute(1_000_000), 100, false),
    ("100 tenants, 1 million a minute, each at its node", Quota::per_minute(1_000_000), 100, true),
];

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let began = Instant::now();
    let mut scenes = Vec::new();
    let mut report = Report::new("a minute, 200 requests a second and node");
    for (scene, quota, callers, sticky) in SCENES {
        let mut points = Vec::new();
        for nodes in NODES {
            let point = simulated(quota, callers, sticky, nodes)?;
            let wait = point.wait.map_or("one server is not enough".into(), |wait| format!("{wait:.3} ms"));
            #[expect(clippy::cast_precision_loss, reason = "200 is exact")]
            let told = format!(
                "{:.0} scripts a second ({:.1} % of the requests), {:.2} % of a limit held at worst, {wait}",
                point.operations,
                100.0 * point.operations / (LOAD as f64 * point.nodes),
                point.held,
            );
            let what = format!("{scene}: {nodes} nodes");
            report.held(&what, &told, "<= 5 % held", point.held <= 5.0);
            points.push(point);
        }
        scenes.push((scene, points));
    }
    plot::draw("docs/cluster.svg", &scenes)?;
    let code = report.print();
    println!("{:.0} s; docs/cluster.svg", began.elapsed().as_secs_f64());
    Ok(code)
}

#[expect(clippy::cast_precision_loss, reason = "counts far below 2⁵²")]
fn simulated(quota: Quota, callers: u64, sticky: bool, nodes: usize) -> Result<Point, Box<dyn Error>> {
    let seconds = SPAN.whole_secs_up();
    let mut cluster = Cluster::new(quota, nodes, sticky, 1 << 15)?;
    let requests = LOAD * seconds * u64::try_from(nodes)?;
    cluster.run(callers, requests, SPAN)?;
    let figures = cluster.figures;
    let operations = figures.trips as f64 / seconds as f64;
    let share = figures.trips as f64 / figures.requests as f64;
    // Half a millisecond there and back, and 1/(μ − λ) at the server.
    let wait = (operations < SERVER).then(|| share * (ROUND_TRIP + 1_000.0 / (SERVER - operations)));
    Ok(Point { nodes: nodes as f64, operations, held: 100.0 * cluster.held(), wait })
}
