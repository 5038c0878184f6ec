//! Limits on the number of connections, in total and per address, and eviction.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;

use metrics::{counter, gauge};
use orbweaver_accounts::customer_address::customer;
use parking_lot::Mutex;

use super::activity::Activity;

/// Most connections.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    pub(super) total: usize,
    /// Per address; see [`customer`].
    pub(super) per_address: usize,
}

/// The open connections. When a limit is reached, the connection that has been idle for longest
/// is closed in favour of a new one, so idle sockets never block new clients. A new one is refused
/// only if all are busy with requests.
#[derive(Debug)]
pub(super) struct Connections {
    bounds: Bounds,
    table: Mutex<Table>,
}

#[derive(Debug, Default)]
struct Table {
    next: u64,
    total: usize,
    addresses: HashMap<IpAddr, HashMap<u64, Arc<Activity>>>,
}

/// A connection's slot; released when dropped.
#[derive(Debug)]
pub(super) struct Place {
    connections: Arc<Connections>,
    address: IpAddr,
    id: u64,
    pub(super) activity: Arc<Activity>,
}

impl Connections {
    pub(super) fn new(bounds: Bounds) -> Arc<Self> {
        Arc::new(Self {
            bounds,
            table: Mutex::default(),
        })
    }

    /// A slot for a connection from this address; `None` if all slots are busy. `shared` is for
    /// addresses used by many clients, such as a proxy's: they have no limit per address.
    pub(super) fn admit(self: &Arc<Self>, peer: IpAddr, shared: bool) -> Option<Place> {
        let address = customer(peer);
        let mut table = self.table.lock();
        let open = table.addresses.get(&address).map_or(0, HashMap::len);
        if !shared && open >= self.bounds.per_address && !table.evict_from(address) {
            counter!("orbweaver_http_connections_refused_total", "bound" => "address").increment(1);
            return None;
        }
        if table.total >= self.bounds.total && !table.evict_quietest() {
            counter!("orbweaver_http_connections_refused_total", "bound" => "total").increment(1);
            return None;
        }
        let (id, activity) = (table.next, Arc::new(Activity::new()));
        table.next += 1;
        table.total += 1;
        let of_address = table.addresses.entry(address).or_default();
        of_address.insert(id, Arc::clone(&activity));
        gauge!("orbweaver_http_connections").increment(1.0);
        Some(Place {
            connections: Arc::clone(self),
            address,
            id,
            activity,
        })
    }

    /// Closes the connection that has been idle for longest. False if all are busy.
    pub(super) fn evict_quietest(&self) -> bool {
        self.table.lock().evict_quietest()
    }

    #[cfg(test)]
    fn len(&self) -> usize {
        self.table.lock().total
    }
}

impl Table {
    fn evict_from(&mut self, address: IpAddr) -> bool {
        let quietest = self
            .addresses
            .get(&address)
            .into_iter()
            .flatten()
            .filter_map(|(id, activity)| Some((activity.quiet_since()?, *id)))
            .min();
        quietest.is_some_and(|(_, id)| self.evict(address, id))
    }

    fn evict_quietest(&mut self) -> bool {
        let quietest = self
            .addresses
            .iter()
            .flat_map(|(address, open)| open.iter().map(move |(id, a)| (address, id, a)))
            .filter_map(|(address, id, activity)| Some((activity.quiet_since()?, *id, *address)))
            .min();
        quietest.is_some_and(|(_, id, address)| self.evict(address, id))
    }

    fn evict(&mut self, address: IpAddr, id: u64) -> bool {
        let Some(activity) = self.remove(address, id) else {
            return false;
        };
        activity.evict();
        counter!("orbweaver_http_connections_evicted_total").increment(1);
        true
    }

    fn remove(&mut self, address: IpAddr, id: u64) -> Option<Arc<Activity>> {
        let open = self.addresses.get_mut(&address)?;
        let activity = open.remove(&id)?;
        if open.is_empty() {
            self.addresses.remove(&address);
        }
        self.total -= 1;
        gauge!("orbweaver_http_connections").decrement(1.0);
        Some(activity)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        // Already removed if the connection was evicted.
        let _ = self.connections.table.lock().remove(self.address, self.id);
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;

    use super::*;

    const BOUNDS: Bounds = Bounds {
        total: 4,
        per_address: 2,
    };

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    fn is_evicted(place: &Place) -> bool {
        place.activity.evicted().now_or_never().is_some()
    }

    fn admit(connections: &Arc<Connections>, peer: &str) -> Option<Place> {
        connections.admit(ip(peer), false)
    }

    #[test]
    fn the_longest_idle_connection_of_an_address_is_evicted() {
        let connections = Connections::new(BOUNDS);
        let first = admit(&connections, "2001:db8::1").unwrap();
        let second = admit(&connections, "2001:db8::2").unwrap();
        let other = admit(&connections, "192.0.2.1").unwrap();
        let third = admit(&connections, "2001:db8::3").unwrap();
        assert!(is_evicted(&first), "the /64 has two slots");
        assert!(!is_evicted(&second) && !is_evicted(&other) && !is_evicted(&third));
        drop(first);
        assert_eq!(connections.len(), 3);
    }

    #[test]
    fn busy_connections_are_not_closed_for_new_ones() {
        let connections = Connections::new(BOUNDS);
        let places = [
            admit(&connections, "192.0.2.1").unwrap(),
            admit(&connections, "192.0.2.1").unwrap(),
        ];
        let busy: Vec<_> = places
            .iter()
            .map(|place| place.activity.request())
            .collect();
        assert!(admit(&connections, "192.0.2.1").is_none());
        drop(busy);
        assert!(admit(&connections, "192.0.2.1").is_some());
    }

    #[test]
    fn the_total_is_bounded_for_all_addresses_together() {
        let connections = Connections::new(BOUNDS);
        let mut places = Vec::new();
        for number in 0..20 {
            places.push(admit(&connections, &format!("192.0.2.{number}")).unwrap());
            assert!(connections.len() <= 4);
        }
        let open = places.iter().filter(|place| !is_evicted(place)).count();
        assert_eq!(open, 4);
        drop(places);
        assert_eq!(connections.len(), 0);
    }

    #[test]
    fn a_proxys_address_has_no_limit_per_address() {
        let connections = Connections::new(BOUNDS);
        let places: Vec<_> = (0..4)
            .map(|_| connections.admit(ip("10.0.0.1"), true).unwrap())
            .collect();
        assert!(places.iter().all(|place| !is_evicted(place)));
    }
}
