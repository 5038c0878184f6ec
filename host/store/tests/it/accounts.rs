//! Projects and their keys.

use chrono::TimeDelta;
use orbweaver_core::ids::ProjectId;
use orbweaver_store::{
    CloudMode, KeyHash, MAX_ENDED_KEYS, NewKey, NewProject, Options, ProjectChange, StoreError,
};

use crate::store::{key, now, open, project};

crate::support::on_both_databases! {
    the_first_project_is_the_administrator
    names_and_keys_are_unique
    only_a_known_key_authenticates_a_project
    projects_change
    of_keys_that_have_ended_the_newest_stay
}

async fn the_first_project_is_the_administrator(options: Options) {
    let store = open(&options).await;
    project(&store, "first").await;
    project(&store, "second").await;
    let projects = store.projects().await.unwrap();
    let flags: Vec<(&str, bool)> = projects
        .iter()
        .map(|p| (p.name.as_str(), p.administrator))
        .collect();
    assert_eq!(flags, [("first", true), ("second", false)]);
    assert_eq!(projects[0].created_at, now());
}

async fn names_and_keys_are_unique(options: Options) {
    let store = open(&options).await;
    let id = project(&store, "shop").await;
    let again = NewProject {
        name: "shop",
        tier: "free",
        key: key("another"),
        actor: "cli",
    };
    let error = store.create_project(&again, now()).await.unwrap_err();
    assert!(matches!(error, StoreError::Exists(_)), "{error}");
    // The failed attempt left nothing: its key can be used.
    store
        .add_key(id, &key("another"), "cli", now())
        .await
        .unwrap();
    let error = store
        .add_key(id, &key("another"), "cli", now())
        .await
        .unwrap_err();
    assert!(matches!(error, StoreError::Exists(_)), "{error}");
    assert_eq!(store.keys(id).await.unwrap().len(), 2);
}

async fn only_a_known_key_authenticates_a_project(options: Options) {
    let store = open(&options).await;
    let id = project(&store, "shop").await;
    let found = store
        .principal(&KeyHash::digest("shop"), now())
        .await
        .unwrap()
        .unwrap();
    assert_eq!((found.project, found.tier.as_str()), (id, "free"));
    assert!(found.administrator);
    assert_eq!(
        store
            .principal(&KeyHash::digest("Shop"), now())
            .await
            .unwrap(),
        None
    );
    store.touch_key(found.key, now() + TimeDelta::seconds(1));
    let keys = store.keys(id).await.unwrap();
    assert_eq!(keys[0].last_used_at, Some(now() + TimeDelta::seconds(1)));
    assert_eq!(keys[0].label.as_deref(), Some("a label"));
}

async fn projects_change(options: Options) {
    let store = open(&options).await;
    let id = project(&store, "shop").await;
    let change = ProjectChange {
        tier: Some("pro"),
        proxy_url: Some(Some("http://p:1")),
        cloud_mode: Some(CloudMode::Auto),
    };
    assert!(store.change_project(id, &change).await.unwrap());
    let shop = store.project_named("shop").await.unwrap().unwrap();
    assert_eq!(
        (shop.tier.as_str(), shop.cloud_mode),
        ("pro", CloudMode::Auto)
    );
    assert_eq!(shop.proxy_url.as_deref(), Some("http://p:1"));
    let change = ProjectChange {
        proxy_url: Some(None),
        ..ProjectChange::default()
    };
    assert!(store.change_project(id, &change).await.unwrap());
    let shop = store.project_named("shop").await.unwrap().unwrap();
    assert_eq!((shop.tier.as_str(), shop.proxy_url), ("pro", None));
    assert!(!store.change_project(ProjectId(999), &change).await.unwrap());
    assert_eq!(store.project_named("none").await.unwrap(), None);
}

async fn of_keys_that_have_ended_the_newest_stay(options: Options) {
    let store = open(&options).await;
    let id = project(&store, "shop").await;
    let neighbour = project(&store, "neighbour").await;
    let rotations = MAX_ENDED_KEYS + 20;
    for number in 1..=rotations {
        let name = number.to_string();
        let key = NewKey {
            label: Some(&name),
            ..key(&name)
        };
        let rotated = store.rotate_keys(id, &key, now(), "cli", now()).await;
        rotated.unwrap().expect("a place for a key");
    }
    let keys = store.keys(id).await.unwrap();
    let labels: Vec<u32> = keys
        .iter()
        .filter_map(|key| key.label.as_deref()?.parse().ok())
        .collect();
    let oldest = rotations - MAX_ENDED_KEYS;
    assert_eq!(labels, Vec::from_iter(oldest..=rotations));
    let events = store.key_events(id).await.unwrap();
    assert_eq!(events.len(), 2 * keys.len() - 1);
    assert_eq!(store.keys(neighbour).await.unwrap().len(), 1);
}
