//! The link graph of a run, drawn: the seed in the middle, every other page on the ring of its
//! distance from it, beside the page that leads to it.

use std::collections::{HashMap, VecDeque};
use std::f64::consts::TAU;

use serde_json::{Value, json};

/// Most pages that are drawn; more cannot be told apart.
pub(super) const MAX_PAGES: usize = 150;
/// Most links that are read.
pub(super) const MAX_LINKS: usize = 1_000;
/// Distance of two rings, in units of the drawing.
const RING: f64 = 90.0;
/// Margin around the rings, with labels and without.
const MARGINS: (f64, f64) = (110.0, 30.0);
/// Most pages of a ring whose names are shown.
const MAX_NAMES: usize = 16;
/// Longest name shown, in characters.
const NAME: usize = 18;

struct Page<'a> {
    id: i64,
    url: &'a str,
    status: i64,
}

/// Nodes and edges with their places, for the template. `pages` and `links` are the items of a run's
/// lists.
pub(super) fn drawn(pages: &[Value], links: &[Value]) -> Value {
    let pages: Vec<Page<'_>> = pages.iter().filter_map(page).take(MAX_PAGES).collect();
    let by_id: HashMap<i64, usize> = pages
        .iter()
        .enumerate()
        .map(|(i, page)| (page.id, i))
        .collect();
    let by_url: HashMap<&str, usize> = pages
        .iter()
        .enumerate()
        .map(|(i, page)| (page.url, i))
        .collect();
    let mut edges: Vec<(usize, usize)> = links
        .iter()
        .take(MAX_LINKS)
        .filter_map(|link| {
            let from = by_id.get(&link.get("from_page_id")?.as_i64()?)?;
            let to = by_url.get(link.get("to_url")?.as_str()?)?;
            (from != to).then_some((*from, *to))
        })
        .collect();
    edges.sort_unstable();
    edges.dedup();
    let tree = Tree::of(pages.len(), &edges);
    let places = tree.places();
    let rings = tree.depth.iter().max().copied().unwrap_or_default();
    let mut on_ring: HashMap<u32, usize> = HashMap::new();
    for depth in &tree.depth {
        *on_ring.entry(*depth).or_default() += 1;
    }
    let has_names = |depth: &u32| on_ring.get(depth).is_some_and(|count| *count <= MAX_NAMES);
    let margin = if has_names(&rings) {
        MARGINS.0
    } else {
        MARGINS.1
    };
    let half = f64::from(rings).mul_add(RING, margin);
    let nodes: Vec<Value> = pages
        .iter()
        .zip(&places)
        .zip(&tree.depth)
        .map(|((page, (x, y)), depth)| {
            // Names stand outside of the ring, away from the lines.
            let (sin, cos) = y.atan2(*x).sin_cos();
            let side = match (*depth, cos) {
                (0, _) => "middle",
                (_, cos) if cos > 0.3 => "start",
                (_, cos) if cos < -0.3 => "end",
                _ => "middle",
            };
            let (label_x, label_y) = match *depth {
                0 => (*x, y + 24.0),
                _ => (x + 11.0 * cos, y + 4.0 + 14.0 * sin),
            };
            json!({
                "id": page.id,
                "url": page.url,
                "name": if has_names(depth) { name(page.url) } else { String::new() },
                "status": page.status,
                "class": if page.status >= 400 || page.status == 0 { "bad" } else { "good" },
                "x": rounded(*x),
                "y": rounded(*y),
                "label_x": rounded(label_x),
                "label_y": rounded(label_y),
                "side": side,
                "r": if *depth == 0 { 9 } else { 6 },
            })
        })
        .collect();
    let lines: Vec<Value> = edges
        .iter()
        .filter_map(|(from, to)| {
            let (a, b) = (places.get(*from)?, places.get(*to)?);
            let is_tree = tree.parent.get(*to).copied().flatten() == Some(*from);
            Some(json!({
                "x1": rounded(a.0),
                "y1": rounded(a.1),
                "x2": rounded(b.0),
                "y2": rounded(b.1),
                "class": if is_tree { "way" } else { "other" },
            }))
        })
        .collect();
    json!({
        "nodes": nodes,
        "edges": lines,
        "box": format!("{0} {0} {1} {1}", rounded(-half), rounded(2.0 * half)),
    })
}

fn page(item: &Value) -> Option<Page<'_>> {
    Some(Page {
        id: item.get("id")?.as_i64()?,
        url: item.get("url")?.as_str()?,
        status: item
            .get("status")
            .and_then(Value::as_i64)
            .unwrap_or_default(),
    })
}

/// The last part of a URL's path, else its host.
fn name(url: &str) -> String {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let path = rest.split(['?', '#']).next().unwrap_or_default();
    let last = path
        .trim_end_matches('/')
        .rsplit('/')
        .next()
        .unwrap_or_default();
    match last.char_indices().nth(NAME) {
        Some((end, _)) => format!("{}…", last.get(..end).unwrap_or_default()),
        None => last.to_owned(),
    }
}

/// One decimal is enough for a drawing.
fn rounded(number: f64) -> f64 {
    (number * 10.0).round() / 10.0
}

/// The shortest ways from the first page. Pages that none leads to stand on a ring outside.
struct Tree {
    parent: Vec<Option<usize>>,
    depth: Vec<u32>,
    children: Vec<Vec<usize>>,
    lost: Vec<usize>,
}

impl Tree {
    fn of(count: usize, edges: &[(usize, usize)]) -> Self {
        let mut leads: Vec<Vec<usize>> = vec![Vec::new(); count];
        for (from, to) in edges {
            if let Some(targets) = leads.get_mut(*from) {
                targets.push(*to);
            }
        }
        let mut parent = vec![None; count];
        let mut depth: Vec<Option<u32>> = vec![None; count];
        let mut children: Vec<Vec<usize>> = vec![Vec::new(); count];
        let mut queue = VecDeque::new();
        if let Some(first) = depth.first_mut() {
            *first = Some(0);
            queue.push_back((0, 0));
        }
        let mut deepest = 0;
        while let Some((at, level)) = queue.pop_front() {
            deepest = level;
            for to in leads.get(at).into_iter().flatten() {
                let (Some(known), Some(above)) = (depth.get_mut(*to), parent.get_mut(*to)) else {
                    continue;
                };
                if known.is_none() {
                    *known = Some(level + 1);
                    *above = Some(at);
                    if let Some(own) = children.get_mut(at) {
                        own.push(*to);
                    }
                    queue.push_back((*to, level + 1));
                }
            }
        }
        let is_lost = |(i, depth): (usize, &Option<u32>)| depth.is_none().then_some(i);
        let lost = depth.iter().enumerate().filter_map(is_lost).collect();
        let outside = deepest + 1;
        Self {
            parent,
            depth: depth
                .into_iter()
                .map(|depth| depth.unwrap_or(outside))
                .collect(),
            children,
            lost,
        }
    }

    /// The place of each page: every page without followers gets the same share of the circle, and
    /// every other one stands in the middle of its followers.
    fn places(&self) -> Vec<(f64, f64)> {
        let count = self.depth.len();
        let mut angle = vec![0.0_f64; count];
        let mut leaves = 0_u32;
        // Depth first; the second visit of a page follows those of its children.
        let mut open: Vec<(usize, bool)> = (count > 0).then_some((0, false)).into_iter().collect();
        let mut order = Vec::with_capacity(count);
        while let Some((at, is_second)) = open.pop() {
            let children = self.children.get(at).map(Vec::as_slice).unwrap_or_default();
            if is_second || children.is_empty() {
                order.push(at);
                if children.is_empty()
                    && let Some(own) = angle.get_mut(at)
                {
                    *own = f64::from(leaves);
                    leaves += 1;
                }
                continue;
            }
            open.push((at, true));
            open.extend(children.iter().rev().map(|child| (*child, false)));
        }
        for at in order {
            let children = self.children.get(at).map(Vec::as_slice).unwrap_or_default();
            let of = |child: Option<&usize>| child.and_then(|child| angle.get(*child)).copied();
            if let (Some(first), Some(last)) = (of(children.first()), of(children.last()))
                && let Some(own) = angle.get_mut(at)
            {
                *own = f64::midpoint(first, last);
            }
        }
        let share = |place: f64, places: u32| TAU * place / f64::from(places.max(1));
        let alone = u32::try_from(self.lost.len()).unwrap_or(u32::MAX);
        let mut angles: Vec<f64> = angle
            .into_iter()
            .map(|place| share(place, leaves))
            .collect();
        for (i, lost) in (0_u32..).zip(&self.lost) {
            if let Some(own) = angles.get_mut(*lost) {
                *own = share(f64::from(i), alone);
            }
        }
        let place = |(angle, depth): (f64, &u32)| {
            let radius = f64::from(*depth) * RING;
            (radius * angle.cos(), radius * angle.sin())
        };
        angles.into_iter().zip(&self.depth).map(place).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(id: i64, url: &str, status: i64) -> Value {
        json!({"id": id, "url": url, "status": status})
    }

    fn link(from: i64, to: &str) -> Value {
        json!({"from_page_id": from, "to_url": to})
    }

    #[test]
    fn pages_stand_on_the_ring_of_their_distance_from_the_seed() {
        let pages = [
            page(1, "https://e.org/", 200),
            page(2, "https://e.org/a", 200),
            page(3, "https://e.org/b", 404),
            page(4, "https://e.org/a/deep", 200),
            page(5, "https://e.org/lost", 200),
        ];
        let links = [
            link(1, "https://e.org/a"),
            link(1, "https://e.org/b"),
            link(2, "https://e.org/a/deep"),
            link(4, "https://e.org/"),
            link(4, "https://elsewhere.org/"),
            link(2, "https://e.org/a"),
        ];
        let graph = drawn(&pages, &links);
        let radius = |i: usize| {
            let at = |name: &str| graph["nodes"][i][name].as_f64().unwrap();
            at("x").hypot(at("y"))
        };
        let rings = [0.0, 1.0, 1.0, 2.0, 3.0];
        for (i, ring) in rings.into_iter().enumerate() {
            assert!((radius(i) - ring * RING).abs() < 1.0, "{i}: {graph}");
        }
        assert_eq!(graph["nodes"][2]["class"], "bad");
        assert_eq!(graph["edges"].as_array().unwrap().len(), 4);
        let ways = graph["edges"].as_array().unwrap();
        assert_eq!(ways.iter().filter(|edge| edge["class"] == "way").count(), 3);
    }

    #[test]
    fn nothing_and_one_page_are_drawn() {
        assert_eq!(drawn(&[], &[])["nodes"], json!([]));
        let one = drawn(&[page(1, "https://e.org/", 200)], &[]);
        assert_eq!(one["nodes"][0]["x"], 0.0);
        assert_eq!(one["nodes"][0]["name"], "e.org");
    }
}
