//! The report in a real browser: what a person sees of it, in light and dark, on a wide screen and a narrow one.

use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

use crate::support::{file, incident, run, text};

/// Measures the report in frames of several widths and writes what it finds into the title. (A headless window can't be
/// as narrow as a telephone.)
const MEASURE: &str = r"
<!DOCTYPE html><title>not measured</title>
<iframe id=narrow style='width:360px;height:800px;border:0'></iframe><iframe id=wide style='width:1200px;height:800px;border:0'></iframe>
<script>
const luminance = color => {
  const [r, g, b] = color.match(/[\d.]+/g).map(part => { const s = part / 255; return s <= 0.03928 ? s / 12.92 : ((s + 0.055) / 1.055) ** 2.4 });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
const contrast = (a, b) => { const [x, y] = [luminance(a), luminance(b)].sort((p, q) => q - p); return (x + 0.05) / (y + 0.05) };
const behind = element => { for (; element; element = element.parentElement) { const c = getComputedStyle(element).backgroundColor; if (!c.endsWith(', 0)')) return c } return 'rgb(255, 255, 255)' };
const measure = frame => {
  const doc = frame.contentDocument, root = doc.documentElement;
  const texts = [...doc.querySelectorAll('h1,h2,h3,p,dt,dd,th,td,caption,summary,figcaption,pre,.ends span')];
  const visible = texts.filter(e => e.offsetParent);
  const shapes = [...doc.querySelectorAll('svg rect, svg path')].filter(e => e.getBoundingClientRect().height > 1);
  return {
    overflows: root.scrollWidth - root.clientWidth,
    faintest: Math.min(...visible.map(e => contrast(getComputedStyle(e).color, behind(e)))),
    smallest: Math.min(...visible.map(e => parseFloat(getComputedStyle(e).fontSize))),
    tables: doc.querySelectorAll('table').length, rows: doc.querySelectorAll('tbody tr').length,
    bare: [...doc.querySelectorAll('th')].filter(e => !e.scope).length,
    headings: [...doc.querySelectorAll('h1,h2,h3')].map(e => e.tagName).join(''),
    shapes: shapes.length, back: getComputedStyle(doc.body).backgroundColor,
    language: root.lang, title: doc.title,
  };
};
const html = REPORT;
const frames = [narrow, wide];
Promise.all(frames.map(frame => new Promise(done => { frame.onload = done; frame.srcdoc = html }))).then(() => {
  document.title = JSON.stringify(frames.map(measure));
});
</script>";

/// The browser that is here.
fn browser() -> Option<&'static str> {
    let is_here = |name: &&str| {
        Command::new(name).arg("--version").output().is_ok_and(|output| output.status.success())
    };
    ["chromium", "chromium-browser", "google-chrome"].into_iter().find(is_here)
}

fn measured(browser: &str, dir: &TempDir, page: &Path, is_dark: bool) -> serde_json::Value {
    let profile = dir.path().join(format!("profile-{is_dark}"));
    let scheme = format!("--blink-settings=preferredColorScheme={}", u8::from(!is_dark));
    let output = Command::new(browser)
        .args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--virtual-time-budget=20000",
        ])
        .args([
            &format!("--user-data-dir={}", text(&profile)),
            &scheme,
            "--window-size=1600,900",
            "--dump-dom",
        ])
        .arg(format!("file://{}", text(page)))
        .output()
        .unwrap();
    let dom = String::from_utf8_lossy(&output.stdout);
    let title = dom.split("<title>").nth(1).and_then(|rest| rest.split("</title>").next());
    let title = title.unwrap_or_else(|| panic!("{dom} {}", String::from_utf8_lossy(&output.stderr)));
    serde_json::from_str(&title.replace("&amp;", "&")).unwrap_or_else(|error| panic!("{error}: {title}"))
}

#[test]
fn a_report_is_legible_in_any_light_and_on_any_screen() {
    let Some(browser) = browser() else {
        assert!(std::env::var_os("CI").is_none(), "no chromium is here, and CI is to have one");
        eprintln!("SKIPPED: no chromium is here, so the report was looked at by nobody");
        return;
    };
    let dir = TempDir::new().unwrap();
    let (log, html) = (
        file(&dir, "access.log", &[incident("combined"), b"garbage\n".to_vec()].concat()),
        dir.path().join("report.html"),
    );
    let own = ["--own", "edge=agent:edge/", "--own", "orchestrator=192.0.2.10"];
    let limits = ["--limit", "300/min", "--limit", "20/s", "--suggest", "--refuse-at-most", "5%"];
    let output = run(&[&own[..], &limits, &[text(&log), "--html", text(&html)]].concat());
    assert_eq!(output.status.code(), Some(0));
    let report = std::fs::read_to_string(&html).unwrap();
    let quoted = serde_json::to_string(&report).unwrap().replace("</", "<\\/");
    let page = file(&dir, "measure.html", MEASURE.replace("REPORT", &quoted).as_bytes());

    for is_dark in [false, true] {
        let frames = measured(browser, &dir, &page, is_dark);
        for (frame, name) in frames.as_array().unwrap().iter().zip(["narrow", "wide"]) {
            let number = |key: &str| frame[key].as_f64().unwrap_or_else(|| panic!("{key} of {frame}"));
            let count = |key: &str| frame[key].as_i64().unwrap_or_else(|| panic!("{key} of {frame}"));
            assert_eq!(count("overflows"), 0, "{name}: the page scrolls sideways: {frame}");
            // WCAG 2.2, 1.4.3.
            assert!(number("faintest") >= 4.5, "{name}, dark {is_dark}: a text is too faint: {frame}");
            assert!(number("smallest") >= 12.0, "{name}: a text is too small: {frame}");
            // Compared, two of peaks, two of callers, and the suggestions.
            assert_eq!((count("tables"), count("bare")), (6, 0), "{name}: {frame}");
            assert!(count("rows") > 20 && count("shapes") > 8, "{name}: {frame}");
            assert_eq!(frame["headings"], "H1H2H2H3H2H3H2H2", "{name}");
            assert_eq!(
                (&frame["language"], &frame["title"]),
                (&"en".into(), &"Rate limits, replayed".into())
            );
            let back = if is_dark { "rgb(20, 23, 26)" } else { "rgb(255, 255, 255)" };
            assert_eq!(frame["back"], back, "{name}");
        }
    }
}
