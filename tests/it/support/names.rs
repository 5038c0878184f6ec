//! Names that resolve as a test says.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use orbweaver_fetch::{ResolveError, Resolver};

/// A resolver with scripted answers: each look-up of a name takes the next answer; the last
/// one is repeated. Other names do not exist.
#[derive(Default)]
pub struct Names {
    script: Mutex<HashMap<String, Vec<Answer>>>,
    asked: Mutex<HashMap<String, usize>>,
}

type Answer = Result<IpAddr, ResolveError>;

impl Names {
    /// A resolver with these answers.
    pub fn of(script: &[(&str, &[&str])]) -> Arc<Self> {
        let names = Self::default();
        for (name, ips) in script {
            for ip in *ips {
                names.then(name, Ok(ip.parse().expect("an address")));
            }
        }
        Arc::new(names)
    }

    /// Adds a name's next answer.
    pub fn then(&self, name: &str, answer: Answer) -> &Self {
        let mut script = self.script.lock().expect("no panic");
        script.entry(name.to_owned()).or_default().push(answer);
        self
    }

    /// How often a name was looked up.
    pub fn asked(&self, name: &str) -> usize {
        let asked = self.asked.lock().expect("no panic");
        asked.get(name).copied().unwrap_or(0)
    }
}

#[async_trait]
impl Resolver for Names {
    async fn resolve(&self, name: &str) -> Result<Vec<IpAddr>, ResolveError> {
        let mut asked = self.asked.lock().expect("no panic");
        *asked.entry(name.to_owned()).or_default() += 1;
        let mut script = self.script.lock().expect("no panic");
        let answers = script.get_mut(name).ok_or(ResolveError::NxDomain)?;
        let answer = if answers.len() > 1 {
            answers.remove(0)
        } else {
            answers[0].clone()
        };
        answer.map(|ip| vec![ip])
    }
}
