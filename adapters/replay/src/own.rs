use std::str::FromStr;

use memchr::memmem;
use tollgate::{Origin, TrustedNetwork};

use crate::record::{MOST_FIELDS, Record};

/// A service of one's own and how its requests are known in a log: `NAME=MATCH`.
///
/// | match | a request is the service's if |
/// |---|---|
/// | `10.0.0.0/8`, `192.0.2.7` | its caller's address is in that network |
/// | `agent:TEXT` | its user agent contains the text |
/// | `header:FIELD=TEXT` | that field of the log is the text |
///
/// # Security
/// User agents and fields are what callers wrote: a log says who claimed to be a service, while credentials prove it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Own {
    /// What the service is called.
    pub name: String,
    mark: Mark,
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum Mark {
    Network(TrustedNetwork),
    Agent(String),
    Field { name: String, text: String },
}

/// Why a service of one's own can't be known.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OwnError {
    /// There is no name or no match.
    #[error("{0:?} says no name: write NAME=MATCH, as in edge=10.0.0.0/8 or edge=agent:edge/")]
    NoName(String),
    /// The match is no network and names no field.
    #[error("{0:?} matches nothing: use a network, agent:TEXT or header:FIELD=TEXT")]
    NoMatch(String),
    /// The network can't be meant as it stands.
    #[error("{0}")]
    Network(#[from] tollgate::OriginError),
}

impl FromStr for Own {
    type Err = OwnError;

    fn from_str(text: &str) -> Result<Self, OwnError> {
        let (name, mark) = text.split_once('=').ok_or_else(|| OwnError::NoName(text.into()))?;
        if name.is_empty() || mark.is_empty() {
            return Err(OwnError::NoName(text.into()));
        }
        let mark = if let Some(agent) = mark.strip_prefix("agent:").filter(|agent| !agent.is_empty()) {
            Mark::Agent(agent.into())
        } else if let Some((name, text)) = mark.strip_prefix("header:").and_then(|rest| rest.split_once('='))
        {
            Mark::Field { name: name.into(), text: text.into() }
        } else if mark.starts_with(|first: char| first.is_ascii_hexdigit() || first == ':')
            && mark.contains(['.', ':'])
        {
            Mark::Network(mark.parse()?)
        } else {
            return Err(OwnError::NoMatch(mark.into()));
        };
        Ok(Self { name: name.into(), mark })
    }
}

/// All services of one's own, in the order of their first mention; several matches may have one name.
#[derive(Clone, Default, Debug)]
pub struct Owns {
    names: Vec<String>,
    /// Each with its name's index.
    marks: Vec<(u8, Found)>,
    fields: Vec<String>,
}

/// A mark made ready for many looks.
#[derive(Clone, Debug)]
enum Found {
    Network(TrustedNetwork),
    Agent(Box<memmem::Finder<'static>>),
    Field { index: usize, text: Vec<u8> },
}

/// Why services of one's own can't be looked for together.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OwnsError {
    /// There are too many.
    #[error("more than {MOST_OWN} services of one's own: give several matches one name")]
    TooMany,
    /// They look at too many fields.
    #[error(
        "more than {MOST_FIELDS} different fields are looked at: mark services by fewer fields of the log"
    )]
    TooManyFields,
}

impl Owns {
    /// These services.
    ///
    /// # Errors
    /// If there are more than 32, or they look at more than [`MOST_FIELDS`] fields.
    pub fn new(owns: &[Own]) -> Result<Self, OwnsError> {
        let mut all = Self::default();
        for own in owns {
            let index = position(&mut all.names, &own.name);
            let index =
                u8::try_from(index).ok().filter(|index| *index < MOST_OWN).ok_or(OwnsError::TooMany)?;
            let found = match &own.mark {
                Mark::Network(network) => Found::Network(*network),
                Mark::Agent(text) => Found::Agent(Box::new(memmem::Finder::new(text).into_owned())),
                Mark::Field { name, text } => {
                    Found::Field { index: position(&mut all.fields, name), text: text.clone().into() }
                }
            };
            all.marks.push((index, found));
        }
        if all.fields.len() > MOST_FIELDS { Err(OwnsError::TooManyFields) } else { Ok(all) }
    }

    /// Whose request it is, as an index into [`names`](Self::names), if it is one's own.
    pub fn whose(&self, caller: &Origin, record: &Record<'_>) -> Option<u8> {
        let is = |found: &Found| match found {
            Found::Network(network) => network.contains(caller.address()),
            Found::Agent(text) => text.find(record.agent).is_some(),
            Found::Field { index, text } => {
                record.fields.get(*index).copied().flatten().is_some_and(|field| field == text)
            }
        };
        self.marks.iter().find(|(_, found)| is(found)).map(|(index, _)| *index)
    }

    /// The services' names.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The fields of the log that are looked at.
    pub fn fields(&self) -> &[String] {
        &self.fields
    }
}

/// Where a text stands in a list, to which it is added if it is not there.
fn position(list: &mut Vec<String>, text: &str) -> usize {
    list.iter().position(|known| known == text).unwrap_or_else(|| {
        list.push(text.into());
        list.len() - 1
    })
}

/// The most services of one's own.
const MOST_OWN: u8 = 32;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Format, Parser, Wanted};

    fn whose(owns: &[&str], line: &str) -> Option<String> {
        let owns: Vec<Own> = owns.iter().map(|own| own.parse().unwrap()).collect();
        let owns = Owns::new(&owns).unwrap();
        let wanted = Wanted { forwarded: None, fields: owns.fields().to_vec() };
        let mut parser = Parser::new(Format::Nginx, wanted);
        let record = parser.parse(line.as_bytes()).unwrap();
        let found = owns.whose(&Origin::peer(record.peer), &record);
        found.map(|index| owns.names()[usize::from(index)].clone())
    }

    const LINE: &str = r#"{"msec":"1431857103.5","remote_addr":"::ffff:10.1.2.3","http_user_agent":"edge/2 (x)","http_x_service":"edge"}"#;

    #[test]
    fn services_are_known_by_address_agent_or_field() {
        for own in ["edge=10.0.0.0/8", "edge=10.1.2.3", "edge=agent:edge/", "edge=header:X-Service=edge"] {
            assert_eq!(whose(&[own], LINE).as_deref(), Some("edge"), "{own}");
        }
        for own in
            ["a=10.1.2.4", "a=2001:db8::/32", "a=agent:Edge", "a=header:X-Service=edg", "a=header:X=edge"]
        {
            assert_eq!(whose(&[own], LINE), None, "{own}");
        }
        assert_eq!(whose(&["a=192.0.2.1", "b=10.0.0.0/8", "c=agent:edge"], LINE).as_deref(), Some("b"));
        assert_eq!(whose(&["a=192.0.2.1", "b=192.0.2.2", "a=agent:edge"], LINE).as_deref(), Some("a"));
    }

    #[test]
    fn what_can_not_be_meant_is_told() {
        for own in
            ["edge", "=10.0.0.0/8", "edge=", "edge=agent:", "edge=header:x", "edge=office", "edge=10.1.2.3/8"]
        {
            let error = own.parse::<Own>().unwrap_err().to_string();
            assert!(error.contains("use ") || error.contains("write "), "{error}");
        }
        let many: Vec<Own> = (0..40).map(|n| format!("s{n}=agent:x").parse().unwrap()).collect();
        assert_eq!(Owns::new(&many).unwrap_err(), OwnsError::TooMany);
        assert!(Owns::new(&many[..32]).is_ok());
        let many: Vec<Own> = (0..5).map(|n| format!("s=header:{n}=x").parse().unwrap()).collect();
        assert_eq!(Owns::new(&many).unwrap_err(), OwnsError::TooManyFields);
    }
}
