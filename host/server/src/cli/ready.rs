//! `orbweaver ready`.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context as _, bail};
use clap::Args;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::Common;
use super::out::out;
use crate::config::{Config, Role};

/// Ask this machine's service whether it is ready, for health checks of containers. The address
/// comes from the configuration. If the service itself serves TLS, only a connection is made.
/// Exits with code 1 if it is not ready.
#[derive(Args)]
pub(super) struct Ready {
    /// Longest time to wait, in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 3,
          value_parser = clap::value_parser!(u64).range(1..=300))]
    timeout: u64,
}

impl Ready {
    pub(super) async fn run(self, common: &Common) -> anyhow::Result<ExitCode> {
        let config = common.load()?.config;
        let ask = ask(&config);
        let Ok(answer) = tokio::time::timeout(Duration::from_secs(self.timeout), ask).await else {
            bail!("no answer within {} s", self.timeout);
        };
        out!("{}", answer?)?;
        Ok(ExitCode::SUCCESS)
    }
}

/// The service's answer; an error if it is not ready.
async fn ask(config: &Config) -> anyhow::Result<String> {
    let (address, path) = question(config)?;
    let stream = TcpStream::connect(address)
        .await
        .with_context(|| format!("cannot connect to {address}"))?;
    if config.tls_cert.is_some() {
        return Ok(format!("{address} takes connections"));
    }
    // Only the status line: /metrics may be long.
    let answer = answer(stream, address, path, 64).await?;
    let status = answer.lines().next().unwrap_or_default().trim().to_owned();
    let code = status.split_whitespace().nth(1);
    if code != Some("200") {
        bail!("{address}{path} answers {status}");
    }
    Ok(format!("{address}{path} answers {status}"))
}

/// Whether this service, not another program, answers on the configured address. Works only without
/// TLS, because a certificate names no address.
pub(super) async fn is_served(config: &Config) -> bool {
    let address = reachable(config.listen);
    let asked = tokio::time::timeout(Duration::from_secs(3), async {
        let stream = TcpStream::connect(address).await?;
        anyhow::Ok(answer(stream, address, "/v1/ready", 4 << 10).await?)
    });
    let Ok(Ok(answer)) = asked.await else {
        return false;
    };
    let Some((head, body)) = answer.split_once("\r\n\r\n") else {
        return false;
    };
    // Another program may answer 200 to every path.
    head.to_lowercase().contains("\r\nx-request-id:") && body.starts_with("ready")
}

/// The first `most` bytes of the answer to a GET.
async fn answer(
    mut stream: TcpStream,
    address: SocketAddr,
    path: &str,
    most: u64,
) -> std::io::Result<String> {
    let request = format!("GET {path} HTTP/1.0\r\nHost: {address}\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    let mut answer = Vec::new();
    stream.take(most).read_to_end(&mut answer).await?;
    Ok(String::from_utf8_lossy(&answer).into_owned())
}

/// Address and path to ask: the API's, or those of the metrics if this process has no API.
fn question(config: &Config) -> anyhow::Result<(SocketAddr, &'static str)> {
    if config.roles.contains(&Role::Api) {
        return Ok((reachable(config.listen), "/v1/ready"));
    }
    match config.metrics.listen {
        Some(address) => Ok((reachable(address), "/metrics")),
        None => bail!("without the role api, set metrics.listen to have an address to ask"),
    }
}

/// The address at which a listener on every interface is reached from this machine.
fn reachable(listen: SocketAddr) -> SocketAddr {
    let ip = match listen.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    SocketAddr::new(ip, listen.port())
}

#[cfg(test)]
mod tests {
    use tokio::net::TcpListener;

    use super::*;

    #[test]
    fn a_process_without_api_is_asked_for_its_metrics() {
        let mut config = Config {
            listen: "0.0.0.0:80".parse().unwrap(),
            ..Config::default()
        };
        let api = question(&config).unwrap();
        assert_eq!(api, ("127.0.0.1:80".parse().unwrap(), "/v1/ready"));
        config.roles = vec![Role::Worker];
        assert!(question(&config).is_err());
        config.metrics.listen = Some("[::]:81".parse().unwrap());
        let metrics = question(&config).unwrap();
        assert_eq!(metrics, ("[::1]:81".parse().unwrap(), "/metrics"));
    }

    #[tokio::test]
    async fn only_the_status_200_is_ready() {
        for (answer, ready) in [
            ("HTTP/1.1 200 OK\r\n\r\n{}", true),
            ("HTTP/1.1 503 Service Unavailable\r\n\r\n{}", false),
            ("", false),
        ] {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let config = Config {
                listen: listener.local_addr().unwrap(),
                ..Config::default()
            };
            let serve = async {
                let (mut stream, _) = listener.accept().await.unwrap();
                let mut request = [0; 512];
                let count = stream.read(&mut request).await.unwrap();
                assert!(request[..count].starts_with(b"GET /v1/ready HTTP/1.0\r\n"));
                stream.write_all(answer.as_bytes()).await.unwrap();
            };
            let (asked, ()) = tokio::join!(ask(&config), serve);
            assert_eq!(asked.is_ok(), ready, "{answer:?}");
        }
    }
}
