//! Policies and settings, and what is told of those that can't work.

use tempfile::TempDir;

use crate::support::{file, incident, json_of, run_on, text};

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
fn settings_that_can_not_work_are_told() {
    let dir = TempDir::new().unwrap();
    let settings = file(&dir, "limits.toml", b"[[policy]]\nlimit = \"300\"\n");
    let table = file(&dir, "table.toml", b"[policy]\nlimit = \"300/min\"\n");
    let strikes = file(
        &dir,
        "strikes.toml",
        b"[[policy]]\nname = \"out\"\nlimit = \"3/s\"\npenalty = { strikes = 0, within = \"1s\", out = \"1h\" }\n",
    );
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
        (&["--settings", text(&table)], "begins with [[policy]]"),
        (&["--settings", text(&strikes)], "out, strikes of the penalty"),
        (&["--fail-if-own-refused"], "--own"),
        (&["a.log", "b.log", "a.log"], "a.log is named twice"),
        (&["-", "-"], "standard input is named twice"),
        (&["--settings", "/nonexistent.toml"], "can't read"),
    ] {
        let output = run_on(b"", args);
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {error}");
        assert!(error.contains(word), "{args:?}: {error}");
    }
}
