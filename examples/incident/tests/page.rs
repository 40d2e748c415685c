//! The page of throttled callers in a real browser, on the incident's traffic. Skipped, loudly, where there is no Chromium,
//! unless the variable `CI` is set. With `SCREENSHOTS=docs/images` it also makes the pictures of the guide.

#![expect(clippy::unwrap_used, reason = "a test that can't go on has failed")]

mod page {
    pub(crate) mod browser;
    pub(crate) mod server;
}

use page::browser::Page;
use page::server::{Server, TOKEN};

/// What the table shows: in each line the caller's address, what it looks like, and its refusals.
const ROWS: &str = "[...document.querySelectorAll('tbody tr')].map((row) => [row.cells[0].textContent,
    row.querySelector('strong').textContent, row.cells[2].firstChild.textContent])";
const HEADLINE: &str = "document.querySelector('#headline').textContent";

/// The incident's callers, one of them near its limit.
const CALLERS: [(&str, &str); 6] = [
    ("127.1.0.1", "your own service"),
    ("127.1.0.2", "your own service"),
    ("127.1.0.3", "one caller"),
    ("127.1.0.4", "forging"),
    ("127.1.0.5", "shared address"),
    ("127.1.0.6", "one caller"),
];

#[test]
fn the_page_says_who_is_throttled_and_stays_up_to_date() {
    let server = Server::start(&["--limit", "20"]);
    let Some(page) = Page::open(&server) else { return };
    assert_eq!(page.read(HEADLINE), "Nobody is being refused.");
    assert_eq!(page.read("document.querySelector('#callers').hidden"), true);
    page.mark();
    server.play_the_incident();

    // Without a reload.
    page.wait("document.querySelectorAll('tbody tr').length === 6 && document.title.startsWith('(5)')");
    assert!(page.is_marked(), "it was loaded again");
    assert_eq!(
        page.read(HEADLINE),
        "2 callers that look like services of yours are being refused, and 3 others."
    );
    assert_eq!(page.read("document.querySelector('#said').textContent"), page.read(HEADLINE));
    let rows = page.read(ROWS);
    for (address, finding) in CALLERS {
        let row = rows.as_array().unwrap().iter().find(|row| row[0] == address).unwrap();
        let refused = if address == "127.1.0.6" { "0near its limit" } else { "40" };
        assert_eq!((&row[1], &row[2]), (&finding.into(), &refused.into()), "{address}");
    }
    // Our own stand first, and above all with what to check.
    assert_eq!(rows.as_array().unwrap()[..2].iter().filter(|row| row[1] == "your own service").count(), 2);
    let own = page.text("document.querySelector('#own').innerText");
    for part in
        ["A limit hits your own services", "127.1.0.1", "127.1.0.2", "rotated or mistyped", "exempts nobody"]
    {
        assert!(own.contains(part), "{own}");
    }
    page.picture("throttled.png", 1_280, false);

    // A later refusal shows in its row, and the row is the same.
    page.run("document.querySelector('tbody tr').marked = true");
    server.call(3, "/", &[]);
    page.wait(&format!("{ROWS}.some(([address, , refused]) => address === '127.1.0.3' && refused === '41')"));
    assert_eq!(page.read("[...document.querySelectorAll('tbody tr')].filter((row) => row.marked).length"), 1);
    page.assert_quiet(&server);
}

#[test]
fn it_is_used_by_keyboard_and_by_name() {
    let server = Server::start(&["--limit", "20"]);
    server.play_the_incident();
    let Some(page) = Page::open(&server) else { return };
    let focused = "document.activeElement.textContent";
    page.press_until("Tab", &format!("{focused} === 'Pause'"));
    page.press_until("Tab", &format!("{focused} === 'Caller'"));
    assert_ne!(page.read("getComputedStyle(document.activeElement).outlineStyle"), "none");
    let sorted = "[...document.querySelectorAll('th[aria-sort]')].map((cell) => [cell.innerText.trim().split(/\\s*[▲▼]/)[0], cell.ariaSort])";
    assert_eq!(page.read(sorted), serde_json::json!([]));
    for (direction, first) in [("ascending", "127.1.0.1"), ("descending", "127.1.0.6")] {
        page.press("Enter");
        assert_eq!(page.read(sorted), serde_json::json!([["Caller", direction]]));
        assert_eq!(page.read(&format!("{ROWS}[0][0]")), first);
    }
    page.press_until("Tab", &format!("{focused} === 'Refused'"));
    page.press("Enter");
    assert_eq!(page.read(sorted), serde_json::json!([["Refused", "descending"]]));
    assert_eq!(page.read(&format!("{ROWS}[5][0]")), "127.1.0.6");
    assert!(page.text("document.querySelector('caption').textContent").contains("by “Refused”, descending"));

    let named = page.names();
    for (role, name) in [
        ("heading", "Throttled callers"),
        ("button", "Pause"),
        ("heading", "A limit hits your own services"),
        ("columnheader", "Caller"),
        ("columnheader", "Looks like"),
        ("columnheader", "Refused"),
        ("button", "Refused"),
        ("rowheader", "127.1.0.4"),
        ("cell", "forging"),
        ("status", ""),
    ] {
        assert!(
            named.iter().any(|(given, text)| given == role && text.starts_with(name)),
            "no {role} is called {name:?}: {named:?}"
        );
    }
    assert!(named.iter().any(|(role, name)| role == "table" && name.starts_with("6 callers")), "{named:?}");
    assert!(named.iter().all(|(role, name)| role != "button" || !name.is_empty()), "a button has no name");
    page.assert_quiet(&server);
}

#[test]
fn it_fits_a_phone_and_a_dark_room() {
    let server = Server::start(&["--limit", "20"]);
    server.play_the_incident();
    let Some(page) = Page::open(&server) else { return };
    let colours = "[getComputedStyle(document.body).backgroundColor, getComputedStyle(document.body).color]";
    page.look(1_280, false);
    assert_eq!(page.read(colours), serde_json::json!(["rgb(251, 251, 250)", "rgb(27, 29, 33)"]));
    let role = |page: &Page| page.names().iter().filter(|(role, _)| role == "row" || role == "table").count();
    let wide = role(&page);
    page.look(360, true);
    assert_eq!(page.read(colours), serde_json::json!(["rgb(20, 22, 26)", "rgb(236, 238, 242)"]));
    assert_eq!(
        page.read("[document.documentElement.scrollWidth, innerWidth]"),
        serde_json::json!([360, 360])
    );
    let beyond = "[...document.querySelectorAll('body *')].filter((one) => one.getBoundingClientRect().right > 360.5).length";
    assert_eq!(page.read(beyond), 0);
    // A row is a card whose cells have labels, and a row all the same to whoever listens.
    assert_eq!(page.read("getComputedStyle(document.querySelector('tbody tr')).display"), "grid");
    assert_eq!(
        page.read("getComputedStyle(document.querySelector('td.number'), '::before').content"),
        "\"Refused\""
    );
    assert_eq!((role(&page), wide), (8, 8));
    // What is touched is large enough (WCAG 2.2, 2.5.8).
    assert_eq!(
        page.read("[...document.querySelectorAll('button')].every((one) => one.offsetHeight >= 24)"),
        true
    );
    page.picture("throttled-phone.png", 360, true);
    page.assert_quiet(&server);
}

#[test]
fn shadow_mode_says_whom_the_limit_would_hit() {
    let server = Server::start(&["--limit", "20", "--mode", "shadow"]);
    server.play_the_incident();
    let Some(page) = Page::open(&server) else { return };
    assert_eq!(
        page.read(HEADLINE),
        "2 callers that look like services of yours would be refused, and 3 others."
    );
    assert!(page.text("document.querySelector('#own').innerText").contains("would have been refused"));
    assert!(
        page.text("document.querySelector('header').innerText").contains("shadow mode, nobody is refused")
    );
    assert_eq!(page.read("document.querySelectorAll('thead th')[2].textContent"), "Would be refused");
    page.assert_quiet(&server);
}

#[test]
fn it_pauses_and_says_when_the_server_is_gone() {
    let mut server = Server::start(&["--limit", "20"]);
    let Some(page) = Page::open(&server) else { return };
    page.press_until("Tab", "document.activeElement.id === 'pause'");
    page.press("Enter");
    assert_eq!(page.read("document.querySelector('#pause').textContent"), "Resume");
    server.play_the_incident();
    page.wait("parseInt(document.querySelector('#age').textContent.match(/\\d+/)[0]) > 4");
    assert_eq!(page.read(HEADLINE), "Nobody is being refused.");
    assert_eq!(page.read("document.querySelector('#trouble').hidden"), true);
    page.press("Enter");
    page.wait(&format!("{HEADLINE}.startsWith('2 callers')"));
    server.stop();
    page.wait("!document.querySelector('#trouble').hidden");
    let told = page.text("document.querySelector('#trouble').textContent");
    assert_eq!(told, "The server can't be reached. What you see may be out of date.");
}

#[test]
fn each_framework_keeps_it_for_those_who_have_the_token() {
    for framework in ["axum", "hyper", "actix-web"] {
        let server = Server::start(&["--on", framework, "--limit", "2"]);
        // Whoever is throttled can look.
        assert_eq!([0; 4].map(|_| server.call(9, "/", &[]).0), [200, 200, 429, 429]);
        let json = [("accept", "application/json"), ("x-internal-token", TOKEN)];
        let (status, report) = server.call(9, "/throttled", &json);
        let report: serde_json::Value = serde_json::from_str(&report).unwrap();
        assert_eq!((status, &report["callers"][0]["refused"]), (200, &2.into()), "{framework}");
        for fields in [&[][..], &[("x-internal-token", "made up")]] {
            let (status, body) = server.call(9, "/throttled", fields);
            assert!(status == 401 && !body.contains("callers"), "{framework}: {status} {body}");
        }
    }
}
