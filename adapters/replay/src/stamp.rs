use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::fmt::strtime;
use jiff::tz::TimeZone;
use tollgate::Nanos;

/// Reads the times of access logs, as nanoseconds since 1970.
///
/// jiff reads a minute once; within it only the seconds' digits are looked at.
///
/// ```
/// use tollgate_replay::Stamps;
/// let mut stamps = Stamps::default();
/// let clf = stamps.clf(b"17/May/2015:10:05:03 +0000");
/// assert_eq!(clf, Stamps::iso(b"2015-05-17T10:05:03Z"));
/// assert_eq!(clf, Stamps::epoch(b"1431857103.000"));
/// ```
#[derive(Clone, Debug)]
pub struct Stamps {
    minutes: [Minute; MINUTES],
}

/// A minute that was read before. Lines are out of order by a minute or so, so a few are kept.
#[derive(Clone, Copy, Debug)]
struct Minute {
    text: [u8; MINUTE],
    zone: [u8; ZONE],
    begins: Option<Nanos>,
}

impl Stamps {
    /// The common log format's time: `17/May/2015:10:05:03 +0000`.
    pub fn clf(&mut self, text: &[u8]) -> Option<Nanos> {
        let (minute, rest) = text.split_first_chunk::<MINUTE>()?;
        let (&[b':', tens, ones, b' '], zone) = rest.split_first_chunk::<4>()? else { return None };
        let zone: &[u8; ZONE] = zone.try_into().ok()?;
        // A leap second is told as the one before it.
        let second = match (tens, ones) {
            (b'0'..=b'5', b'0'..=b'9') => u64::from(tens - b'0') * 10 + u64::from(ones - b'0'),
            (b'6', b'0') => 59,
            _ => return None,
        };
        let known = self.minutes.get_mut(usize::from(minute[MINUTE - 1]) % MINUTES)?;
        if known.begins.is_none() || known.text != *minute || known.zone != *zone {
            *known = Minute { text: *minute, zone: *zone, begins: begin(minute, zone) };
        }
        Some(known.begins?.saturating_add(Nanos::from_secs(second)))
    }

    /// ISO 8601: `2015-05-17T10:05:03.25Z`, with any offset or, without one, in UTC.
    pub fn iso(text: &[u8]) -> Option<Nanos> {
        let text = std::str::from_utf8(text).ok()?;
        let read = text.parse::<Timestamp>();
        let read = read.or_else(|_| TimeZone::UTC.to_timestamp(text.parse::<DateTime>()?));
        nanos(read.ok()?)
    }

    /// Seconds since 1970, with any fraction; or, by its size, a whole number of milli-, micro- or nanoseconds.
    pub fn epoch(text: &[u8]) -> Option<Nanos> {
        let text = std::str::from_utf8(text).ok()?;
        let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
        let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
        if whole.is_empty() || !digits(whole) || !digits(fraction) {
            return None;
        }
        let whole: u64 = whole.parse().ok()?;
        let unit = match whole {
            0..LATEST_SECOND => 1_000_000_000,
            LATEST_SECOND..100_000_000_000_000 => 1_000_000,
            100_000_000_000_000..100_000_000_000_000_000 => 1_000,
            _ => 1,
        };
        let mut nanos = whole.checked_mul(unit)?;
        let mut place = unit;
        for digit in fraction.bytes() {
            place /= 10;
            nanos = nanos.checked_add(place * u64::from(digit - b'0'))?;
        }
        Some(Nanos(nanos))
    }

    /// A time in any of the three.
    pub fn any(&mut self, text: &[u8]) -> Option<Nanos> {
        self.clf(text).or_else(|| Self::epoch(text)).or_else(|| Self::iso(text))
    }
}

impl Default for Stamps {
    fn default() -> Self {
        let minute = Minute { text: [0; MINUTE], zone: [0; ZONE], begins: None };
        Self { minutes: [minute; MINUTES] }
    }
}

#[cold]
#[inline(never)]
fn begin(minute: &[u8], zone: &[u8]) -> Option<Nanos> {
    // jiff reads `5 /May` and `+05-1` more kindly than a log writes them.
    let is_plain = zone
        .split_first()
        .is_some_and(|(sign, digits)| matches!(sign, b'+' | b'-') && digits.iter().all(u8::is_ascii_digit));
    if !is_plain || minute.contains(&b' ') {
        return None;
    }
    let text = [minute, b" ", zone].concat();
    nanos(strtime::parse("%d/%b/%Y:%H:%M %z", text).ok()?.to_timestamp().ok()?)
}

fn nanos(time: Timestamp) -> Option<Nanos> {
    u64::try_from(time.as_nanosecond()).ok().map(Nanos)
}

/// Minutes that are kept, by the last bits of the last digit.
const MINUTES: usize = 16;
/// `17/May/2015:10:05` and `+0000`.
const MINUTE: usize = 17;
const ZONE: usize = 5;
/// Whole numbers from here on are not seconds: it would be the year 5138.
const LATEST_SECOND: u64 = 100_000_000_000;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// jiff, asked about the whole text.
    fn oracle(text: &[u8]) -> Option<Nanos> {
        nanos(strtime::parse("%d/%b/%Y:%H:%M:%S %z", text).ok()?.to_timestamp().ok()?)
    }

    fn written() -> impl Strategy<Value = String> {
        let months = vec!["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
        let date = (1..=31_u8, proptest::sample::select(months), 1969..2100_u16);
        let time = (0..24_u8, 0..60_u8, 0..=60_u8);
        (date, time, any::<bool>(), 0..15_u8, 0..60_u8).prop_map(|((d, m, y), (h, min, s), east, oh, om)| {
            let sign = if east { '+' } else { '-' };
            format!("{d:02}/{m}/{y}:{h:02}:{min:02}:{s:02} {sign}{oh:02}{om:02}")
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        /// One `Stamps` reads them all, so that what it remembers of one is tried on the next.
        #[test]
        fn times_are_what_jiff_says(
            texts in proptest::collection::vec(written(), 1..30),
            changes in proptest::collection::vec((0..26_usize, prop::sample::select(&b"0159 +-:/MayZ"[..])), 0..30),
        ) {
            let mut stamps = Stamps::default();
            for (index, text) in texts.iter().chain(&texts).enumerate() {
                let mut text = text.clone().into_bytes();
                prop_assert_eq!(stamps.clf(&text), oracle(&text));
                if let Some((at, byte)) = changes.get(index) {
                    text[*at] = *byte;
                    // What is odd may be refused, but never read otherwise.
                    if let Some(read) = stamps.clf(&text) {
                        prop_assert_eq!(Some(read), oracle(&text));
                    }
                }
            }
        }

        #[test]
        fn other_times_agree(secs in 0..4_000_000_000_u64, nanos in 0..1_000_000_000_u64) {
            let time = Timestamp::new(secs.try_into().unwrap(), nanos.try_into().unwrap()).unwrap();
            let expected = Some(Nanos(secs * 1_000_000_000 + nanos));
            let mut stamps = Stamps::default();
            prop_assert_eq!(stamps.any(time.to_string().as_bytes()), expected);
            prop_assert_eq!(stamps.any(format!("{secs}.{nanos:09}").as_bytes()), expected);
        }

        #[test]
        fn no_text_panics(text in proptest::collection::vec(any::<u8>(), 0..40)) {
            let _ = Stamps::default().any(&text);
        }
    }

    #[test]
    fn units_are_told_by_size() {
        for text in ["1431857103", "1431857103000", "1431857103000000", "1431857103000000000"] {
            assert_eq!(Stamps::epoch(text.as_bytes()), Some(Nanos::from_secs(1_431_857_103)), "{text}");
        }
        assert_eq!(Stamps::epoch(b"1431857103000.5"), Some(Nanos(1_431_857_103_000_500_000)));
        assert_eq!(Stamps::epoch(b"-1"), None);
        assert_eq!(Stamps::iso(b"2015-05-17 12:05:03+02:00"), Some(Nanos::from_secs(1_431_857_103)));
        assert_eq!(Stamps::iso(b"2015-05-17T10:05:03"), Some(Nanos::from_secs(1_431_857_103)));
        assert_eq!(Stamps::iso(b"1969-05-17T10:05:03Z"), None);
    }
}
