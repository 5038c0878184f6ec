//! Costs of a page.

use anyhow::{Context as _, Result};
use serde_json::Value;

/// Measured costs.
#[derive(Clone, Debug)]
pub struct Costs {
    /// CPU of a node for a page, in seconds.
    pub cpu: f64,
    /// CPU of the database for a page, in seconds, and the cores that it has.
    pub database: f64,
    pub database_cores: usize,
    /// CPU of all other programs for a page when everything runs on one machine, in seconds.
    pub beside: f64,
    /// Time of a run besides its pages: from a free place to the first request, and from the
    /// last page to the next free place, in seconds.
    pub run: f64,
    /// Of the nodes' CPU for a page of a run in parts: what the run's worker does, in seconds.
    pub worker: f64,
    /// Time in which a run's commit of pages keeps out those of other nodes, for each page, in
    /// seconds.
    pub ordered: f64,
    /// Rows written for a page.
    pub rows: f64,
    /// Bytes of rows and indexes, and of the body, for a page.
    pub row_bytes: f64,
    pub body_bytes: f64,
    /// Prices in US dollars.
    pub core_hour: f64,
    pub row_terabyte_month: f64,
    pub body_terabyte_month: f64,
}

impl Costs {
    /// Reads the costs.
    ///
    /// # Errors
    /// A cost is missing.
    pub fn parse(text: &str) -> Result<Self> {
        let json: Value = serde_json::from_str(text)?;
        let number = |name: &str| {
            let value = json.get(name).and_then(Value::as_f64);
            value.with_context(|| format!("the costs have no {name}"))
        };
        Ok(Self {
            cpu: number("cpu_ms")? / 1000.0,
            database: number("database_cpu_ms")? / 1000.0,
            database_cores: number("database_cores")? as usize,
            beside: number("beside_cpu_ms")? / 1000.0,
            run: number("run_seconds")?,
            worker: number("worker_ms")? / 1000.0,
            ordered: number("ordered_ms")? / 1000.0,
            rows: number("rows")?,
            row_bytes: number("row_bytes")?,
            body_bytes: number("body_bytes")?,
            core_hour: number("dollars_core_hour")?,
            row_terabyte_month: number("dollars_row_terabyte_month")?,
            body_terabyte_month: number("dollars_body_terabyte_month")?,
        })
    }

    /// US dollars for the crawl and for a month of storage.
    pub fn money(&self, nodes: usize, cores: usize, pages: f64, seconds: f64) -> f64 {
        let cores = (nodes * cores + self.database_cores) as f64;
        cores * seconds / 3600.0 * self.core_hour
            + pages * self.row_bytes / 1e12 * self.row_terabyte_month
            + pages * self.body_bytes / 1e12 * self.body_terabyte_month
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// Costs that are easy to calculate with.
    pub fn costs() -> Costs {
        Costs {
            cpu: 0.001,
            database: 0.000_1,
            database_cores: 4,
            beside: 0.0,
            run: 0.0,
            worker: 0.0,
            ordered: 0.0,
            rows: 3.0,
            row_bytes: 1e3,
            body_bytes: 1e4,
            core_hour: 0.04,
            row_terabyte_month: 100.0,
            body_terabyte_month: 20.0,
        }
    }

    #[test]
    fn the_costs_of_the_project_are_complete() {
        let costs = Costs::parse(include_str!("costs.json")).unwrap();
        // The worker's share is a part of the nodes' CPU, and one commit is one database process.
        assert!(costs.worker < costs.cpu, "{costs:?}");
        assert!(costs.ordered < costs.database, "{costs:?}");
        let error = Costs::parse("{}").unwrap_err();
        assert!(error.to_string().contains("cpu_ms"), "{error}");
    }
}
