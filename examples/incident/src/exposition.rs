use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle};

use crate::Error;

/// What is counted, as Prometheus collects it.
#[derive(Clone)]
pub(crate) struct Exposition(PrometheusHandle);

impl Exposition {
    /// From now on what gates count is kept. Gates that were built before keep nothing.
    pub(crate) fn install() -> Result<Self, Error> {
        PrometheusBuilder::new()
            .install_recorder()
            .map(Self)
            .map_err(|error| Error::Metrics(error.to_string()))
    }

    /// In the text format, version 0.0.4.
    pub(crate) fn text(&self) -> String {
        self.0.render()
    }
}

/// The type of that text.
pub(crate) const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";
