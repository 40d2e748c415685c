use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use arc_swap::ArcSwapOption;
use redis::{ErrorKind, FromRedisValue, RedisError, RedisResult, Script};
use tollgate::{Key, Nanos};

use crate::breaker::Breaker;
use crate::connection::Connection;
use crate::question::{Answer, Question};
use crate::route::Route;
use crate::scripts::Scripts;
use crate::tallies::Tallies;
use crate::time_source::{Asked, TimeSource};

/// The way to the server: a connection while there is one, and whether to use it.
pub(crate) struct Link {
    pub(crate) route: Route,
    pub(crate) breaker: Breaker,
    pub(crate) scripts: Scripts,
    pub(crate) source: TimeSource,
    /// How long a decision waits.
    pub(crate) wait: Duration,
    /// By how much keys outlive what they say.
    pub(crate) margin: Duration,
    pub(crate) connection: ArcSwapOption<Connection>,
    /// The server has refused to tell a script the time.
    pub(crate) no_time: AtomicBool,
}

impl Link {
    /// Asks about one or several limits, once: a request that they decide `together`, all or nothing, or one of each.
    pub(crate) async fn decide(
        &self,
        questions: &[Question],
        together: bool,
        now: Nanos,
        tallies: &Tallies,
    ) -> RedisResult<Answer> {
        let margin = i64::try_from(self.margin.as_millis()).unwrap_or(i64::MAX);
        let mut arguments = vec![margin, i64::from(together)];
        arguments.extend(questions.iter().flat_map(Question::arguments));
        let keys: Vec<&str> = questions.iter().map(|question| question.key.as_str()).collect();
        let script = self.scripts.decide(questions.iter().map(|question| question.figures[0]));
        let reply: Vec<i64> = self.run(script, &keys, &arguments, now, tallies).await?;
        Answer::read(&reply, questions.len())
    }

    /// Runs a script whose first two arguments are the time.
    pub(crate) async fn run<T: FromRedisValue>(
        &self,
        script: &Script,
        keys: &[&str],
        arguments: &[i64],
        now: Nanos,
        tallies: &Tallies,
    ) -> RedisResult<T> {
        let Some(connection) = self.connection.load_full() else { return Err(no_connection()) };
        let mut connection = Connection::clone(&connection);
        loop {
            let asked = self.asked(now);
            let mut invocation = script.prepare_invoke();
            for key in keys {
                invocation.key(*key);
            }
            invocation.arg(asked.high).arg(asked.low).arg(arguments);
            tallies.round_trips.add(1);
            let began = Instant::now();
            let result = invocation.invoke_async(&mut connection).await;
            tallies.wait.record(began.elapsed());
            match result {
                Err(error) if asked == Asked::SERVER && self.forbids_time(&error) => {}
                Err(error) => {
                    // A question without an answer in time is counted by whoever waited, once.
                    if began.elapsed() <= self.wait {
                        self.breaker.failed();
                    }
                    tracing::debug!(%error, "the store of the shared budget gave no answer");
                    return Err(error);
                }
                Ok(value) => {
                    // An answer that came too late for whoever asked is no sign of health.
                    if began.elapsed() <= self.wait {
                        self.breaker.succeeded();
                    }
                    return Ok(value);
                }
            }
        }
    }

    /// Whether questions about different callers may go in one script call: not where their slots are on different servers,
    /// nor where each has a time of its own.
    pub(crate) fn batches(&self) -> bool {
        self.route.has_one_server() && self.source != TimeSource::Caller
    }

    /// The time that a script is to decide by.
    pub(crate) fn asked(&self, now: Nanos) -> Asked {
        match self.source {
            TimeSource::Caller => Asked::at(now),
            // ORDERING: read by itself; a script that is asked for the time once more says so again.
            TimeSource::Server if !self.no_time.load(Ordering::Relaxed) => Asked::SERVER,
            TimeSource::Server | TimeSource::Node => Asked::system(),
        }
    }

    /// Whether a script failed because it may not know the time; the node's is used from then on.
    pub(crate) fn forbids_time(&self, error: &RedisError) -> bool {
        let forbids = error.code() == Some("TIMEFORBIDDEN");
        // ORDERING: as above.
        if forbids && !self.no_time.swap(true, Ordering::Relaxed) {
            tracing::warn!(
                "the server does not let this user call TIME in a script, so the nodes' clocks decide: keep them \
                 within 100 ms, or allow the user +time"
            );
        }
        forbids
    }

    /// Whether a caller's decision is to be the store's now.
    pub(crate) fn admits(&self, key: Key) -> bool {
        self.breaker.admits(key, Instant::now())
    }

    /// The connection, made anew if there is none.
    pub(crate) async fn connected(&self) -> RedisResult<Connection> {
        if let Some(connection) = self.connection.load_full() {
            return Ok(Connection::clone(&connection));
        }
        let mut connection = self.route.connect().await?;
        for script in self.scripts.all() {
            script.load_async(&mut connection).await?;
        }
        self.connection.store(Some(std::sync::Arc::new(connection.clone())));
        Ok(connection)
    }
}

fn no_connection() -> RedisError {
    RedisError::from((ErrorKind::Io, "there is no connection to the store"))
}
