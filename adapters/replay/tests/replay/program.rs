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
}

#[test]
fn policies_come_from_flags_and_from_a_file() {
    let dir = TempDir::new().unwrap();
    let settings = file(
        &dir,
        "limits.toml",
        br#"
            own = ["edge=agent:edge/", "orchestrator=192.0.2.10"]
            internal = ["/internal/"]
            v6_prefix = 56
            [[policy]]
            name = "with identity"
            limit = "300/min"
            exempt_own = true
            [[policy]]
            limit = "300/min"
            v4_prefix = 24
            [[policy]]
            limit = "5000/min"
            name = "everyone"
            everyone = true
            capacity = 16
            [[policy]]
            name = "out"
            limit = "300/min"
            penalty = { strikes = 10, within = "1min", out = "1h" }
            [[policy]]
            limit = "300/min"
            algorithm = "promise"
            burst = 50
            overflow = "refuse"
        "#,
    );
    let args = ["--settings", text(&settings), "--limit", "20/s", "--algorithm", "sliding"];
    let (outcome, code) = json_of(&incident("combined"), &args);
    assert_eq!(code, 0);
    let policies = outcome["policies"].as_array().unwrap();
    let names: Vec<_> = policies.iter().map(|policy| policy["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["with identity", "300/min", "everyone", "out", "300/min, in any", "20/s, sliding"]);
    let refused: Vec<_> = policies.iter().map(|policy| policy["refused"].as_u64().unwrap()).collect();
    // By /24 the edge's three addresses are one caller, and so are the people's with the scraper's and the forger's.
    assert_eq!(refused[..4], [3_000, 6_520 - 3 * 300, 1_520, 3_720]);
    assert!(refused[4] > 3_720, "a promise admits less than a window");
    assert_eq!(policies[1]["ranked"][0]["caller"], "203.0.113.0/24");
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

#[test]
fn settings_that_can_not_work_are_told() {
    let dir = TempDir::new().unwrap();
    let settings = file(&dir, "limits.toml", b"[[policy]]\nlimit = \"300\"\n");
    for (args, word) in [
        (&["--limit", "0/min"][..], "use at least 1"),
        (&["--limit", "300"], "300/min"),
        (&["--limit", "3/s", "--burst", "0"], "use at least 1"),
        (&["--limit", "3/s", "--burst", "1", "--algorithm", "fixed"], "--algorithm"),
        (&["--limit", "3/s", "--limit", "3/s"], "another name"),
        (&["--v4-prefix", "4"], "8 to 32"),
        (&["--capacity", "0"], "capacity"),
        (&["--own", "edge"], "NAME=MATCH"),
        (&["--trust", "10.0.0.0/8"], "choose"),
        (&["--from", "x-forwarded-for"], "header:NAME"),
        (&["--pattern", "{peer}"], "{time}"),
        (&["--refuse-at-most", "2"], "0.1%"),
        (&["--settings", text(&settings)], "300/min"),
        (&["--settings", "/nonexistent.toml"], "can't read"),
    ] {
        let output = run_on(b"", args);
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {error}");
        assert!(error.contains(word), "{args:?}: {error}");
    }
}
