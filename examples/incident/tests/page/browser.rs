use std::io::{self, Write};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::{env, fs};

use headless_chrome::browser::default_executable;
use headless_chrome::protocol::cdp::types::{Event, Method};
use headless_chrome::protocol::cdp::{Emulation, Log, Network, Page as CdpPage, Runtime};
use headless_chrome::{Browser, LaunchOptions, Tab};
use serde_json::Value;

use super::server::{Server, TOKEN};

/// The page in a browser of its own, as a person opens it.
pub(crate) struct Page {
    tab: Arc<Tab>,
    seen: Arc<Mutex<Seen>>,
    _browser: Browser,
}

/// What the browser tells of a page.
#[derive(Default)]
struct Seen {
    complaints: Vec<String>,
    requests: Vec<String>,
}

impl Page {
    /// `None` if there is no browser, and there need not be one.
    pub(crate) fn open(server: &Server) -> Option<Self> {
        if let Err(missing) = default_executable() {
            assert!(env::var_os("CI").is_none(), "no browser: {missing}; ci/install installs one");
            // Past the test harness, which keeps what a test that passes prints by macros.
            let told =
                "SKIPPED: there is no Chromium, so nobody has looked at the page; ci/install installs one";
            io::stderr().write_all(format!("{told}\n").as_bytes()).unwrap();
            return None;
        }
        // Chromium's sandbox can't be made in most containers, and what is opened here is our own.
        let options =
            LaunchOptions { sandbox: false, window_size: Some((1_280, 900)), ..LaunchOptions::default() };
        let browser = Browser::new(options).unwrap();
        let tab = browser.new_tab().unwrap();
        let seen = Arc::<Mutex<Seen>>::default();
        let told = Arc::clone(&seen);
        tab.add_event_listener(Arc::new(move |event: &Event| told.lock().unwrap().take(event))).unwrap();
        tab.call_method(Log::Enable(None)).unwrap();
        tab.call_method(Runtime::Enable(None)).unwrap();
        tab.call_method(Network::Enable {
            max_total_buffer_size: None,
            max_resource_buffer_size: None,
            max_post_data_size: None,
            report_direct_socket_traffic: None,
            enable_durable_messages: None,
        })
        .unwrap();
        // As somebody who has typed a name and the token.
        let url = format!("http://on-call:{TOKEN}@{}/throttled", server.address);
        tab.navigate_to(&url).unwrap().wait_for_element("#headline").unwrap();
        Some(Self { tab, seen, _browser: browser })
    }

    /// The value of an expression.
    pub(crate) fn read(&self, expression: &str) -> Value {
        let told = self.tab.evaluate(&format!("JSON.stringify({expression})"), false).unwrap();
        let Some(Value::String(json)) = told.value else { panic!("{expression}: {told:?}") };
        serde_json::from_str(&json).unwrap()
    }

    pub(crate) fn text(&self, expression: &str) -> String {
        self.read(expression).as_str().unwrap().to_owned()
    }

    pub(crate) fn run(&self, statement: &str) {
        self.tab.evaluate(statement, false).unwrap();
    }

    /// Until this holds; looked at whenever the page has changed or a part of a second has passed.
    pub(crate) fn wait(&self, condition: &str) {
        let promise = format!(
            "new Promise((done) => {{
                const end = performance.now() + 15000;
                const look = () => {condition} ? done('held') : performance.now() > end ? done(document.body.innerText) : setTimeout(look, 50);
                look();
            }})"
        );
        let told = self.tab.evaluate(&promise, true).unwrap();
        assert_eq!(told.value, Some("held".into()), "{condition}");
    }

    pub(crate) fn press(&self, key: &str) {
        self.tab.press_key(key).unwrap();
    }

    /// Presses a key until this holds, which it must after some times.
    pub(crate) fn press_until(&self, key: &str, condition: &str) {
        for _ in 0..20 {
            self.press(key);
            if self.read(condition) == true {
                return;
            }
        }
        panic!("{condition} does not come by pressing {key}");
    }

    pub(crate) fn mark(&self) {
        self.run("window.marked = true");
    }

    pub(crate) fn is_marked(&self) -> bool {
        self.read("window.marked === true") == true
    }

    /// A window of this width, light or dark.
    pub(crate) fn look(&self, width: u32, is_dark: bool) {
        let height = if width < 600 { 800 } else { 900 };
        self.tab
            .call_method(Emulation::SetDeviceMetricsOverride {
                width,
                height,
                device_scale_factor: 1.0,
                mobile: width < 600,
                scale: None,
                screen_width: None,
                screen_height: None,
                position_x: None,
                position_y: None,
                dont_set_visible_size: None,
                screen_orientation: None,
                viewport: None,
                display_feature: None,
                device_posture: None,
            })
            .unwrap();
        let scheme = if is_dark { "dark" } else { "light" };
        let features = [("prefers-color-scheme", scheme), ("prefers-reduced-motion", "reduce")]
            .map(|(name, value)| Emulation::MediaFeature { name: name.into(), value: value.into() });
        self.tab
            .call_method(Emulation::SetEmulatedMedia { media: None, features: Some(features.into()) })
            .unwrap();
    }

    /// A picture of the whole page, if pictures are asked for.
    pub(crate) fn picture(&self, name: &str, width: u32, is_dark: bool) {
        let Some(folder) = env::var_os("SCREENSHOTS") else { return };
        self.look(width, is_dark);
        let clip = CdpPage::Viewport {
            x: 0.0,
            y: 0.0,
            width: f64::from(width),
            height: self.read("document.documentElement.scrollHeight").as_f64().unwrap(),
            scale: 1.0,
        };
        let taken = self
            .tab
            .call_method(CdpPage::CaptureScreenshot {
                format: Some(CdpPage::CaptureScreenshotFormatOption::Png),
                clip: Some(clip),
                quality: None,
                from_surface: Some(true),
                capture_beyond_viewport: Some(true),
                optimize_for_speed: None,
            })
            .unwrap();
        let picture = base64::Engine::decode(&base64::prelude::BASE64_STANDARD, taken.data).unwrap();
        // Tests run in their package's folder.
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(folder);
        fs::write(folder.join(name), picture).unwrap();
    }

    /// What assistive technology is told: roles and names.
    pub(crate) fn names(&self) -> Vec<(String, String)> {
        let tree = self.tab.call_method(AccessibilityTree {}).unwrap();
        let nodes = tree["nodes"].as_array().unwrap().iter().filter(|node| node["ignored"] == false);
        let text = |value: &Value| value["value"].as_str().unwrap_or_default().to_owned();
        nodes.map(|node| (text(&node["role"]), text(&node["name"]))).collect()
    }

    /// Nothing was complained of, and nobody but the server was asked.
    pub(crate) fn assert_quiet(&self, server: &Server) {
        let seen = self.seen.lock().unwrap();
        assert_eq!(seen.complaints, [""; 0]);
        assert!(!seen.requests.is_empty(), "the browser tells of no request");
        for url in &seen.requests {
            let url = url.replace(&format!("on-call:{TOKEN}@"), "");
            let own = ["/throttled", "/throttled?format=json"];
            let is_own = own.iter().any(|path| url == format!("http://{}{path}", server.address));
            assert!(is_own || url == "data:,", "{url} was asked for");
        }
    }
}

/// The driver's own type knows fewer properties than Chromium has.
#[derive(serde::Serialize, Debug)]
struct AccessibilityTree {}

impl Method for AccessibilityTree {
    const NAME: &'static str = "Accessibility.getFullAXTree";
    type ReturnObject = Value;
}

impl Seen {
    fn take(&mut self, event: &Event) {
        match event {
            Event::LogEntryAdded(added) => self.complaints.push(format!("{:?}", added.params.entry)),
            Event::RuntimeConsoleAPICalled(called) => self.complaints.push(format!("{:?}", called.params)),
            Event::RuntimeExceptionThrown(thrown) => self.complaints.push(format!("{:?}", thrown.params)),
            Event::NetworkRequestWillBeSent(sent) => self.requests.push(sent.params.request.url.clone()),
            _ => {}
        }
    }
}
