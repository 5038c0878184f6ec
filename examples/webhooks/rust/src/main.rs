//! Receives Orbweaver's webhooks: `WEBHOOK_SECRET=… cargo run -- [PORT]`.

mod request;
mod verify;

use std::collections::{HashSet, VecDeque};
use std::error::Error;
use std::net::{TcpListener, TcpStream};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use request::Request;

/// Number of remembered deliveries, so that a repeated one is processed only once.
const REMEMBERED: usize = 10_000;

#[derive(Default)]
struct Seen {
    ids: HashSet<String>,
    order: VecDeque<String>,
}

impl Seen {
    /// Whether this delivery has not been received before.
    fn is_new(&mut self, id: &str) -> bool {
        if !self.ids.insert(id.to_owned()) {
            return false;
        }
        self.order.push_back(id.to_owned());
        if self.order.len() > REMEMBERED
            && let Some(oldest) = self.order.pop_front()
        {
            self.ids.remove(&oldest);
        }
        true
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let secret = hex::decode(std::env::var("WEBHOOK_SECRET")?)?;
    let port: u16 = std::env::args()
        .nth(1)
        .map_or(Ok(9000), |port| port.parse())?;
    let listener = TcpListener::bind(("127.0.0.1", port))?;
    println!("listens on http://{}", listener.local_addr()?);
    let seen = Mutex::new(Seen::default());
    std::thread::scope(|scope| {
        for stream in listener.incoming().flatten() {
            let (secret, seen) = (&secret, &seen);
            scope.spawn(move || {
                if let Err(error) = receive(&stream, secret, seen) {
                    println!("refused: {error}");
                }
            });
        }
    });
    Ok(())
}

fn receive(stream: &TcpStream, secret: &[u8], seen: &Mutex<Seen>) -> Result<(), Box<dyn Error>> {
    stream.set_read_timeout(Some(Duration::from_secs(10)))?;
    let request = Request::read(stream)?;
    if let Err(wrong) = verify::verify(&request, secret) {
        request::answer(stream, "401 Unauthorized")?;
        return Err(wrong.into());
    }
    request::answer(stream, "204 No Content")?;
    let id = request.header("webhook-id");
    if seen
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .is_new(id)
    {
        println!("{}", described(&serde_json::from_slice(&request.body)?));
    }
    Ok(())
}

/// A line about an event. Those of a later version of the service are named, too.
fn described(event: &serde_json::Value) -> String {
    let text = |field: &serde_json::Value| field.as_str().unwrap_or_default().to_owned();
    let (name, id) = (text(&event["event"]), &event["id"]);
    match name.as_str() {
        "crawl.done" | "crawl.diff_detected" | "actor.run_complete" => {
            format!("{name} of run {id}: {}", text(&event["status"]))
        }
        "crawl.page" => {
            let pages = event["pages"].as_array().map_or(0, Vec::len);
            format!("{name} of run {id}: {pages} pages")
        }
        "plugin.quarantined" | "plugin.recovered" => {
            let plugin = &event["plugin"];
            format!(
                "{name}: {} {}",
                text(&plugin["kind"]),
                text(&plugin["name"])
            )
        }
        _ => name,
    }
}
