//! Turns of hosts, which all nodes share.

use std::time::Duration;

use chrono::TimeDelta;
use orbweaver_store::crawl::HostSlot;
use orbweaver_store::{Options, Store};

use crate::given::now;

crate::support::on_both_databases! {
    a_slot_is_taken_only_when_it_is_free
    a_closed_host_has_no_slot
    one_of_many_nodes_gets_a_slot
}

const DELAY: Duration = Duration::from_secs(10);

/// Asks so many seconds after the begin.
async fn ask(store: &Store, seconds: i64, delay: Duration) -> HostSlot {
    let at = now() + TimeDelta::seconds(seconds);
    store.host_slot("e.org:443", at, delay).await.unwrap()
}

fn free_at(seconds: i64) -> HostSlot {
    HostSlot::FreeAt(now() + TimeDelta::seconds(seconds))
}

async fn a_slot_is_taken_only_when_it_is_free(options: Options) {
    let store = Store::open(&options).await.unwrap();
    let other = Store::open(&options).await.unwrap();
    assert_eq!(ask(&store, 0, DELAY).await, HostSlot::Taken);
    // However often it is asked for, nothing is reserved ahead.
    for seconds in [0, 1, 9] {
        for node in [&store, &other] {
            assert_eq!(ask(node, seconds, DELAY).await, free_at(10));
        }
    }
    assert_eq!(ask(&other, 10, DELAY).await, HostSlot::Taken);
    assert_eq!(ask(&store, 10, DELAY).await, free_at(20));
    // Unused time is not made up for.
    assert_eq!(ask(&store, 45, DELAY).await, HostSlot::Taken);
    assert_eq!(ask(&store, 46, DELAY).await, free_at(55));
    // A run without a Crawl-delay does not wait for those with one.
    assert_eq!(ask(&store, 46, Duration::ZERO).await, HostSlot::Taken);
}

async fn a_closed_host_has_no_slot(options: Options) {
    let store = Store::open(&options).await.unwrap();
    let until = now() + TimeDelta::seconds(30);
    store.close_host("e.org:443", until).await.unwrap();
    for delay in [DELAY, Duration::ZERO] {
        assert_eq!(ask(&store, 29, delay).await, free_at(30));
    }
    assert_eq!(ask(&store, 30, DELAY).await, HostSlot::Taken);
    assert_eq!(ask(&store, 30, Duration::ZERO).await, HostSlot::Taken);
}

async fn one_of_many_nodes_gets_a_slot(options: Options) {
    let store = Store::open(&options).await.unwrap();
    for seconds in [0, 10] {
        let asked = (0..8).map(|_| ask(&store, seconds, DELAY));
        let slots = futures::future::join_all(asked).await;
        let taken = slots.iter().filter(|slot| **slot == HostSlot::Taken);
        assert_eq!(taken.count(), 1, "{slots:?}");
        let others = slots.iter().filter(|slot| **slot == free_at(seconds + 10));
        assert_eq!(others.count(), 7, "{slots:?}");
    }
}
