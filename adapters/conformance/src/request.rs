use crate::app::TOKEN;

/// A request, to be written in either version of HTTP.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) method: &'static str,
    pub(crate) target: String,
    pub(crate) fields: Vec<(String, Vec<u8>)>,
    pub(crate) body: Vec<u8>,
}

impl Request {
    pub(crate) fn new(method: &'static str, target: impl Into<String>) -> Self {
        Self { method, target: target.into(), fields: Vec::new(), body: Vec::new() }
    }

    pub(crate) fn get(target: impl Into<String>) -> Self {
        Self::new("GET", target)
    }

    pub(crate) fn head(target: impl Into<String>) -> Self {
        Self::new("HEAD", target)
    }

    pub(crate) fn post(target: impl Into<String>, body: impl Into<Vec<u8>>) -> Self {
        Self { body: body.into(), ..Self::new("POST", target) }
    }

    /// With one more line.
    pub(crate) fn field(mut self, name: impl Into<String>, value: impl AsRef<[u8]>) -> Self {
        self.fields.push((name.into(), value.as_ref().into()));
        self
    }

    pub(crate) fn token(self, token: impl AsRef<[u8]>) -> Self {
        self.field("x-internal-token", token)
    }

    /// As the service `edge` sends it.
    pub(crate) fn ours(self) -> Self {
        self.token(TOKEN)
    }

    pub(crate) fn forwarded_for(self, elements: impl AsRef<[u8]>) -> Self {
        self.field("X-Forwarded-For", elements)
    }

    /// The bytes of HTTP/1.1.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut bytes =
            format!("{} {} HTTP/1.1\r\nHost: tollgate.test\r\n", self.method, self.target).into_bytes();
        for (name, value) in &self.fields {
            bytes.extend_from_slice(name.as_bytes());
            bytes.extend_from_slice(b": ");
            bytes.extend_from_slice(value);
            bytes.extend_from_slice(b"\r\n");
        }
        if !self.body.is_empty() {
            bytes.extend_from_slice(format!("Content-Length: {}\r\n", self.body.len()).as_bytes());
        }
        bytes.extend_from_slice(b"\r\n");
        bytes.extend_from_slice(&self.body);
        bytes
    }
}
