//! Ten thousand lines of a real log, where they are to be had, and a few where they are not.

use std::collections::HashSet;
use std::io::{Read, Write};
use std::net::IpAddr;

use flate2::read::MultiGzDecoder;
use regex::Regex;

use crate::model::{Model, SECOND, refusals};
use crate::support::json_of;

const POLICIES: [&str; 3] = ["fixed", "sliding", "gcra"];

/// The requests of a combined-format log, by a regular expression and the calendar of May 2015; sorted.
fn requests(log: &str) -> Vec<(IpAddr, u64)> {
    let line = Regex::new(r#"(?m)^(\S+) \S+ \S+ \[(\d\d)/May/2015:(\d\d):(\d\d):(\d\d) \+0000\] ""#).unwrap();
    let request = |found: regex::Captures<'_>| {
        let [address, numbers @ ..] = found.extract::<5>().1;
        let [day, hour, minute, second] = numbers.map(|number| number.parse::<u64>().unwrap());
        // The first of May 2015.
        let seconds = 1_430_438_400 + (((day - 1) * 24 + hour) * 60 + minute) * 60 + second;
        (address.parse().unwrap(), seconds * SECOND)
    };
    let mut requests: Vec<_> = line.captures_iter(log).map(request).collect();
    requests.sort_by_key(|request| request.1);
    requests
}

/// Refused requests and refused callers, by the program and by the model, under one policy each.
fn compare(log: &[u8], plain: &str) -> Vec<(u64, u64)> {
    let requests = requests(plain);
    let settings = r#"
        [[policy]]
        name = "fixed"
        limit = "20/min"
        [[policy]]
        name = "sliding"
        limit = "20/min"
        algorithm = "sliding"
        [[policy]]
        name = "gcra"
        limit = "15/min"
        burst = 10
    "#;
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(settings.as_bytes()).unwrap();
    let (outcome, code) = json_of(log, &["--settings", file.path().to_str().unwrap()]);
    assert_eq!((code, outcome["unparsed"].as_u64()), (0, Some(0)));
    assert_eq!(outcome["requests"].as_u64(), Some(requests.len() as u64));
    let callers: HashSet<IpAddr> = requests.iter().map(|request| request.0).collect();
    assert_eq!(outcome["callers"].as_u64(), Some(callers.len() as u64));

    let models = [
        Model::Fixed { limit: 20, window: 60 * SECOND },
        Model::Sliding { limit: 20, window: 60 * SECOND },
        // Four seconds are 1,907.3 ticks.
        Model::Gcra { burst: 10, interval: 1_908, tick: 1 << 21 },
    ];
    let mut all = Vec::new();
    for (index, model) in models.into_iter().enumerate() {
        let refusals = refusals(model, &requests);
        let refused: Vec<IpAddr> = requests
            .iter()
            .zip(refusals)
            .filter(|(_, refused)| *refused)
            .map(|(request, _)| request.0)
            .collect();
        let policy = &outcome["policies"][index];
        assert_eq!(policy["name"], POLICIES[index]);
        let expected = (refused.len() as u64, refused.iter().collect::<HashSet<_>>().len() as u64);
        let found = (policy["refused"].as_u64().unwrap(), policy["refused_callers"].as_u64().unwrap());
        assert_eq!(found, expected, "{}", POLICIES[index]);
        all.push(found);
    }
    all
}

#[test]
fn a_few_lines_are_what_the_model_says() {
    let log = include_bytes!("../data/combined.log");
    // So few that nobody is refused: forty times the same are more.
    let plain = String::from_utf8(log.to_vec()).unwrap();
    let first: String = plain.lines().take(8).flat_map(|line| [line, "\n"]).collect::<String>().repeat(40);
    assert!(compare(first.as_bytes(), &first).iter().all(|(refused, _)| *refused > 100));
}

#[test]
fn the_whole_log_is_what_the_model_says() {
    let Some(path) = std::env::var_os("TOLLGATE_REPLAY_LOG") else {
        eprintln!("SKIPPED: TOLLGATE_REPLAY_LOG names no log; see tests/data/README.md");
        return;
    };
    let log = std::fs::read(path).unwrap();
    let mut plain = String::new();
    if log.starts_with(&[0x1f, 0x8b]) {
        MultiGzDecoder::new(log.as_slice()).read_to_string(&mut plain).unwrap();
    } else {
        plain = String::from_utf8(log.clone()).unwrap();
    }
    let (outcome, _) = json_of(&log, &[]);
    assert_eq!((outcome["requests"].as_u64(), outcome["callers"].as_u64()), (Some(10_000), Some(1_753)));
    let found = compare(&log, &plain);
    assert_eq!(found[0].0, 931);
    println!("refused requests and callers: {found:?}");
}
