//! The program as people and pipelines run it.

use tempfile::TempDir;

use crate::support::{file, incident, json_of, run, run_on, text};

const OWN: [&str; 4] = ["--own", "edge=agent:edge/", "--own", "orchestrator=192.0.2.10"];

#[test]
fn the_incident_is_seen_before_it_happens() {
    for format in ["combined", "nginx", "caddy", "traefik", "envoy", "alb"] {
        let (outcome, code) = json_of(&incident(format), &OWN);
        assert_eq!(code, 0);
        assert_eq!(
            (outcome["requests"].as_u64(), outcome["unparsed"].as_u64()),
            (Some(6_520), Some(0)),
            "{format}"
        );
        assert_eq!(outcome["callers"], 56);
        let policy = &outcome["policies"][0];
        assert_eq!(policy["name"], "300/min");
        assert_eq!(policy["refused"], 3_720);
        assert_eq!(policy["refused_callers"], 6);
        assert_eq!(policy["own_refused"], 720);
        assert_eq!(policy["own_refused_by_service"], serde_json::json!([540, 180]));
        let verdicts: Vec<_> =
            policy["ranked"].as_array().unwrap().iter().map(|row| row["verdict"].as_str().unwrap()).collect();
        assert_eq!(verdicts[..3], ["one_caller", "forging", "own_service"], "{format}");
    }
}

#[test]
fn with_identity_nothing_of_ones_own_is_refused() {
    let (outcome, code) =
        json_of(&incident("combined"), &[&OWN[..], &["--exempt-own", "--fail-if-own-refused"]].concat());
    assert_eq!(code, 0);
    assert_eq!(outcome["policies"][0]["refused"], 3_000);
    assert_eq!(outcome["policies"][0]["own_refused"], 0);
}

#[test]
fn a_service_is_known_by_a_field() {
    let own = ["--own", "edge=header:X-Service=edge"];
    for format in ["caddy", "traefik", "envoy"] {
        assert_eq!(json_of(&incident(format), &own).0["policies"][0]["own_refused"], 540, "{format}");
    }
}

#[test]
fn pipelines_can_fail_on_it() {
    let log = incident("combined");
    assert_eq!(json_of(&log, &[&OWN[..], &["--fail-if-own-refused"]].concat()).1, 1);
    assert_eq!(json_of(&log, &[&OWN[..], &["--fail-if-own-refused", "--limit", "600/min"]].concat()).1, 0);
    // Where limits are looked for one is tried nonetheless, and what is amiss beside it is told.
    let dir = TempDir::new().unwrap();
    let (log, none) = (file(&dir, "access.log", &log), dir.path().join("none.log"));
    let args = [&OWN[..], &["--fail-if-own-refused", "--suggest", text(&log), text(&none)]].concat();
    let output = run(&args);
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("none.log: it can't be read"), "{output:?}");
}

#[test]
fn a_report_that_can_not_be_written_costs_neither_summary_nor_log() {
    let dir = TempDir::new().unwrap();
    let log = file(&dir, "access.log", &incident("combined"));
    let output = run(&[text(&log), "--html", text(&dir.path().join("none/report.html"))]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stdout).contains("3,720"), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stderr).contains("report.html"), "{output:?}");
    // Nor is a log written over; a report is.
    let output = run(&[text(&log), "--html", text(&log)]);
    assert!(String::from_utf8_lossy(&output.stderr).contains("is no report"), "{output:?}");
    assert_eq!((output.status.code(), std::fs::read(&log).unwrap()), (Some(2), incident("combined")));
    let report = text(&dir.path().join("report.html")).to_owned();
    for _ in 0..2 {
        assert_eq!(run(&[text(&log), "--html", &report]).status.code(), Some(0));
    }
}

#[test]
fn limits_are_suggested_or_said_not_to_work() {
    let args = [&OWN[..], &["--suggest", "--refuse-at-most", "5%"]].concat();
    let (outcome, _) = json_of(&incident("combined"), &args);
    assert_eq!(outcome["policies"].as_array().unwrap().len(), 0);
    let minute = &outcome["suggestions"][1];
    assert_eq!((minute["limit"].as_u64(), minute["for_single_callers"].as_u64()), (Some(480), Some(20)));
    assert!(minute["no_number"].as_str().unwrap().contains("no number works"), "{minute}");
    let summary = String::from_utf8(run_on(&incident("combined"), &args).stdout).unwrap();
    assert!(
        summary.contains("480/min: no number works") && summary.contains("Identity is the answer"),
        "{summary}"
    );
    // Without services of one's own the same log has a limit that works.
    let (outcome, _) = json_of(&incident("combined"), &["--suggest", "--refuse-at-most", "11%"]);
    assert_eq!(
        (&outcome["suggestions"][1]["limit"], &outcome["suggestions"][1]["no_number"]),
        (&20.into(), &().into())
    );
}

#[test]
fn a_shared_address_is_told() {
    let line = |agent: u32, second: u32| {
        format!(
            "198.18.0.1 - - [17/May/2015:10:05:{second:02} +0000] \"GET / HTTP/1.1\" 200 1 \"-\" \"agent {agent}\"\n"
        )
    };
    let log: String = (0..50).map(|second| line(second % 25, second)).collect();
    let (outcome, _) = json_of(log.as_bytes(), &["--limit", "10/min", "--suggest", "--refuse-at-most", "0%"]);
    let row = &outcome["policies"][0]["ranked"][0];
    assert_eq!(row["verdict"], "shared_address");
    assert!((15..=36).contains(&row["distinct"].as_u64().unwrap()), "{row}");
    let why = outcome["suggestions"][1]["no_number"].as_str().unwrap();
    assert!(why.contains("share 198.18.0.1/32 and needs 50"), "{why}");
}

#[test]
fn callers_beyond_what_is_kept_are_estimated() {
    let line = |caller: u32| {
        format!(
            "198.18.{}.{} - - [17/May/2015:10:05:03 +0000] \"GET / HTTP/1.1\" 200 1\n",
            caller / 256,
            caller % 256
        )
    };
    let log: String = (0..3_000).flat_map(|caller| [line(caller), line(caller)]).collect();
    let (outcome, _) = json_of(log.as_bytes(), &["--limit", "1/min", "--most-callers", "100"]);
    assert_eq!(outcome["callers_are_estimated"], true);
    for count in [&outcome["callers"], &outcome["policies"][0]["refused_callers"]] {
        assert!((2_900..=3_100).contains(&count.as_u64().unwrap()), "{count}");
    }
    assert_eq!(outcome["policies"][0]["refused"], 3_000);
}

#[test]
fn the_report_holds_all_of_it_and_loads_nothing() {
    let dir = TempDir::new().unwrap();
    let (log, html) = (file(&dir, "<script>&.log", &incident("combined")), dir.path().join("report.html"));
    let output =
        run(&[&OWN[..], &[text(&log), "--html", text(&html), "--suggest", "--limit", "300/min"]].concat());
    assert_eq!(output.status.code(), Some(0));
    let page = std::fs::read_to_string(html).unwrap();
    for word in [
        "3,720",
        "203.0.113.200/32",
        "looks like your own service",
        "forging",
        "one caller",
        "prefers-color-scheme",
    ] {
        assert!(page.contains(word), "{word}");
    }
    assert!(page.contains("&#60;script&#62;&#38;.log"), "names are escaped");
    for word in ["<script", "src=", "url(", "@import", "href="] {
        assert!(!page.contains(word), "{word}");
    }
}
