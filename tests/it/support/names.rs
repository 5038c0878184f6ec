//! Names that resolve as a test says.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use orbweaver_fetch::{ResolveError, Resolver};

/// Answers from a script: each look-up of a name takes its next answer, the last one stays.
/// Names that are not in it do not exist.
#[derive(Default)]
pub struct Names(Mutex<HashMap<String, Vec<IpAddr>>>);

impl Names {
    /// Of a script.
    pub fn of(script: &[(&str, &[&str])]) -> Arc<Self> {
        let parse = |ips: &[&str]| {
            ips.iter()
                .map(|ip| ip.parse().expect("an address"))
                .collect()
        };
        let names = script
            .iter()
            .map(|(name, ips)| ((*name).to_owned(), parse(ips)))
            .collect();
        Arc::new(Self(Mutex::new(names)))
    }
}

#[async_trait]
impl Resolver for Names {
    async fn resolve(&self, name: &str) -> Result<Vec<IpAddr>, ResolveError> {
        let mut names = self.0.lock().expect("no panic");
        let answers = names.get_mut(name).ok_or(ResolveError::NxDomain)?;
        Ok(vec![if answers.len() > 1 {
            answers.remove(0)
        } else {
            answers[0]
        }])
    }
}
