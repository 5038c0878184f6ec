//! Many rules at once: a path is read once, whatever their number.
//!
//! All parts of patterns, which have no `*`, are in one tree of their bytes with suffix links
//! (Aho and Corasick). A rule waits for its next part from where the last one ended; as in
//! [`Pattern::matches`](super::matcher::Pattern::matches), each part is taken where it first occurs.

use std::collections::VecDeque;

use super::Rule;
use super::matcher::Parts;

/// No string, and no waiting rule.
const NONE: u32 = u32::MAX;
const ROOT: u32 = 0;
/// Most steps of one path, some milliseconds. The longest path and the most rules take a tenth of
/// it, unless many parts are suffixes of each other: `*a`, `*aa`, `*aaa` and so on.
const MAX_STEPS: u64 = 1 << 20;

/// Empty lists that are made in one step.
const LISTS_PER_STEP: usize = 8;

/// A path takes too many steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TooLong;

/// The rules of one agent, by what they look for.
#[derive(Debug)]
pub(super) struct Index {
    /// In order of depth, so that the children of a node stand together, in order of their bytes.
    nodes: Vec<Node>,
    /// By string: the rules that begin with it, as a range of `starters`.
    begun: Vec<(u32, u32)>,
    starters: Vec<u32>,
    /// By rule: the strings that it looks for one after the other, as a range of `wanted`.
    sought: Vec<(u32, u32)>,
    wanted: Vec<u32>,
    /// By string: its length.
    lengths: Vec<u32>,
}

#[derive(Debug)]
struct Node {
    byte: u8,
    children: u32,
    /// The node of the longest suffix that is in the tree.
    suffix: u32,
    /// The nearest suffix that rules look for; the root if there is none.
    found: u32,
    /// The string that ends here.
    string: u32,
    /// Whether rules look for it after their beginning.
    is_wanted: bool,
}

/// What a path has come to.
struct Course<'p> {
    path: &'p str,
    best: Option<(usize, bool)>,
    /// By string: the first and the last entry of `entries` that wait for it.
    waiting: Vec<(u32, u32)>,
    entries: Vec<Waiting>,
    open: usize,
    steps: u64,
}

/// A rule that waits for a string.
struct Waiting {
    rule: u32,
    /// The place in `wanted`.
    place: u32,
    /// Where in the path its last part ended.
    since: usize,
    /// The next entry that waits for the same string.
    next: u32,
}

impl Index {
    /// Bytes that the index of these rules takes at most.
    pub(super) fn most_bytes(rules: &[Rule]) -> usize {
        let parts = rules.iter().map(|rule| rule.pattern.parts());
        let bytes = parts.map(|parts| {
            let wanted = parts.wanted().count();
            let text = parts.first.len() + parts.wanted().map(str::len).sum::<usize>();
            text * size_of::<Node>() + (wanted + 1) * 6 * size_of::<u32>()
        });
        bytes.sum::<usize>() + size_of::<Self>() + size_of::<Node>() * 2
    }

    /// Bytes that it takes.
    #[cfg(test)]
    pub(super) fn held_bytes(&self) -> usize {
        size_of::<Self>()
            + self.nodes.len() * size_of::<Node>()
            + (self.begun.len() + self.sought.len()) * size_of::<(u32, u32)>()
            + (self.starters.len() + self.wanted.len() + self.lengths.len()) * size_of::<u32>()
    }

    /// Arranges rules.
    pub(super) fn new(rules: &[Rule]) -> Self {
        // Each part with its number among all parts; a rule's first part, then what it looks for.
        let mut parts: Vec<(&[u8], usize)> = Vec::new();
        let mut firsts = Vec::with_capacity(rules.len());
        for rule in rules {
            let Parts { first, .. } = rule.pattern.parts();
            firsts.push(parts.len());
            for part in std::iter::once(first).chain(rule.pattern.parts().wanted()) {
                parts.push((part.as_bytes(), parts.len()));
            }
        }
        let mut string_of = vec![NONE; parts.len()];
        parts.sort_unstable();
        let mut strings: Vec<&[u8]> = Vec::new();
        for (part, number) in parts {
            if strings.last() != Some(&part) {
                strings.push(part);
            }
            if let Some(string) = string_of.get_mut(number) {
                *string = index(strings.len() - 1);
            }
        }
        let (mut by_start, mut sought) = (Vec::new(), Vec::with_capacity(rules.len()));
        let mut wanted = Vec::with_capacity(string_of.len());
        for (rule, from) in firsts.iter().enumerate() {
            let to = firsts.get(rule + 1).copied().unwrap_or(string_of.len());
            let Some([first, rest @ ..]) = string_of.get(*from..to) else {
                continue;
            };
            by_start.push((*first, index(rule)));
            let place = index(wanted.len());
            wanted.extend_from_slice(rest);
            sought.push((place, index(wanted.len())));
        }
        by_start.sort_unstable();
        let mut begun = vec![(0, 0); strings.len()];
        for (place, (string, _)) in by_start.iter().enumerate() {
            if let Some(range) = begun.get_mut(*string as usize) {
                if range.1 == 0 {
                    range.0 = index(place);
                }
                range.1 = index(place + 1);
            }
        }
        let mut is_wanted = vec![false; strings.len()];
        for string in &wanted {
            if let Some(is_wanted) = is_wanted.get_mut(*string as usize) {
                *is_wanted = true;
            }
        }
        let mut index = Self {
            nodes: tree(&strings, &is_wanted),
            begun,
            starters: by_start.into_iter().map(|(_, rule)| rule).collect(),
            sought,
            wanted,
            lengths: strings.iter().map(|string| index(string.len())).collect(),
        };
        index.link();
        index
    }

    /// Sets the suffixes of all nodes: parents come before their children.
    fn link(&mut self) {
        for parent in 0..index(self.nodes.len()) {
            for child in self.children(parent) {
                let Some(byte) = self.node(child).map(|node| node.byte) else {
                    continue;
                };
                let suffix = match parent {
                    ROOT => ROOT,
                    _ => {
                        let above = self.node(parent).map_or(ROOT, |node| node.suffix);
                        self.after(above, byte, &mut 0)
                    }
                };
                let found = self.node(suffix).map_or(ROOT, |node| match node.is_wanted {
                    true => suffix,
                    false => node.found,
                });
                if let Some(node) = self.nodes.get_mut(child as usize) {
                    node.suffix = suffix;
                    node.found = found;
                }
            }
        }
    }

    fn node(&self, number: u32) -> Option<&Node> {
        self.nodes.get(number as usize)
    }

    fn children(&self, node: u32) -> std::ops::Range<u32> {
        let first = |node: u32| {
            let children = self.node(node).map(|node| node.children);
            children.unwrap_or(index(self.nodes.len()))
        };
        first(node)..first(node + 1)
    }

    fn child(&self, node: u32, byte: u8) -> Option<u32> {
        let range = self.children(node);
        let children = self
            .nodes
            .get(range.start as usize..range.end as usize)
            .unwrap_or_default();
        let found = children.binary_search_by_key(&byte, |node| node.byte);
        found.ok().map(|place| range.start + index(place))
    }

    /// The node of the longest suffix after one more byte.
    fn after(&self, mut node: u32, byte: u8, steps: &mut u64) -> u32 {
        loop {
            *steps += 1;
            if let Some(child) = self.child(node, byte) {
                return child;
            }
            if node == ROOT {
                return ROOT;
            }
            node = self.node(node).map_or(ROOT, |node| node.suffix);
        }
    }

    /// The weight of the best rule that matches `path`: its length, and whether it allows. Adds the
    /// work to `steps`.
    ///
    /// # Errors
    /// When it takes too many steps.
    pub(super) fn best(
        &self,
        rules: &[Rule],
        path: &str,
        steps: &mut u64,
    ) -> Result<Option<(usize, bool)>, TooLong> {
        let mut course = Course {
            path,
            best: None,
            waiting: vec![(NONE, NONE); self.lengths.len()],
            entries: Vec::new(),
            open: 0,
            steps: 0,
        };
        // Before a byte is read, each string gets its empty list.
        *steps += (self.lengths.len() / LISTS_PER_STEP) as u64;
        // The node of the path so far, while it is in the tree, and that of its longest suffix.
        let (mut start, mut node) = (Some(ROOT), ROOT);
        let mut bytes = path.bytes();
        let mut at = 0;
        loop {
            if let Some(start) = start {
                self.begin(rules, start, at, &mut course);
            }
            self.find(rules, node, at, &mut course);
            if start.is_none() && course.open == 0 {
                break;
            }
            let Some(byte) = bytes.next() else { break };
            at += 1;
            start = start.and_then(|start| self.child(start, byte));
            node = self.after(node, byte, &mut course.steps);
            if course.steps > MAX_STEPS {
                *steps += course.steps;
                return Err(TooLong);
            }
        }
        *steps += course.steps;
        Ok(course.best)
    }

    /// Starts the rules whose first part is the path up to `at`.
    fn begin(&self, rules: &[Rule], node: u32, at: usize, course: &mut Course<'_>) {
        let string = self.node(node).map_or(NONE, |node| node.string);
        let Some((from, to)) = self.begun.get(string as usize) else {
            return;
        };
        for rule in self
            .starters
            .get(*from as usize..*to as usize)
            .unwrap_or_default()
        {
            let place = self.sought.get(*rule as usize).map_or(0, |(from, _)| *from);
            self.go_on(rules, *rule, place, at, course);
        }
    }

    /// Goes on with the rules that wait for what ends at `at`.
    fn find(&self, rules: &[Rule], mut node: u32, at: usize, course: &mut Course<'_>) {
        while let Some(found) = self.node(node).filter(|_| node != ROOT) {
            course.steps += 1;
            let string = found.string as usize;
            if found.is_wanted
                && let Some(length) = self.lengths.get(string)
            {
                while let Some(entry) = course.take(string, at, *length as usize) {
                    self.go_on(rules, entry.0, entry.1 + 1, at, course);
                }
            }
            node = found.found;
        }
    }

    /// Lets a rule wait for the string at a place of `wanted`; behind the last one, it matches.
    fn go_on(&self, rules: &[Rule], rule: u32, place: u32, at: usize, course: &mut Course<'_>) {
        course.steps += 1;
        let Some(known) = rules.get(rule as usize) else {
            return;
        };
        let weight = known.weight();
        if course.best.is_some_and(|best| best >= weight) {
            return;
        }
        let end = self.sought.get(rule as usize).map_or(0, |(_, to)| *to);
        let next = self.wanted.get(place as usize).filter(|_| place < end);
        match next {
            Some(string) => course.wait(*string as usize, rule, place, at),
            None if known.pattern.parts().ends(course.path, at) => course.best = Some(weight),
            None => {}
        }
    }
}

impl Course<'_> {
    fn wait(&mut self, string: usize, rule: u32, place: u32, since: usize) {
        let new = index(self.entries.len());
        self.entries.push(Waiting {
            rule,
            place,
            since,
            next: NONE,
        });
        self.open += 1;
        let Some((first, last)) = self.waiting.get_mut(string) else {
            return;
        };
        if let Some(last) = self.entries.get_mut(*last as usize) {
            last.next = new;
        } else {
            *first = new;
        }
        *last = new;
    }

    /// The next rule that has waited for a string since its start: those that wait have come in the
    /// order of the path.
    fn take(&mut self, string: usize, at: usize, length: usize) -> Option<(u32, u32)> {
        let (first, last) = self.waiting.get_mut(string)?;
        let entry = self.entries.get(*first as usize)?;
        if entry.since + length > at {
            return None;
        }
        *first = entry.next;
        if entry.next == NONE {
            *last = NONE;
        }
        self.open -= 1;
        Some((entry.rule, entry.place))
    }
}

/// The tree of sorted strings, without suffixes.
fn tree(strings: &[&[u8]], is_wanted: &[bool]) -> Vec<Node> {
    let node = |byte| Node {
        byte,
        children: 0,
        suffix: ROOT,
        found: ROOT,
        string: NONE,
        is_wanted: false,
    };
    let mut nodes = vec![node(0)];
    // Nodes whose children are not made yet, in order: the strings that pass each, and its depth.
    let mut waiting = VecDeque::from([(0, strings.len(), 0)]);
    let mut parent = 0;
    while let Some((mut from, to, depth)) = waiting.pop_front() {
        let children = index(nodes.len());
        // The string that ends at the node comes first.
        let ends = strings
            .get(from)
            .is_some_and(|string| string.len() == depth)
            && from < to;
        if let Some(node) = nodes.get_mut(parent) {
            node.children = children;
            if ends {
                node.string = index(from);
                node.is_wanted = is_wanted.get(from).copied().unwrap_or(false);
            }
        }
        from += usize::from(ends);
        let byte_of = |string: usize| strings.get(string)?.get(depth).copied();
        while from < to {
            let Some(byte) = byte_of(from) else { break };
            let mut end = from + 1;
            while end < to && byte_of(end) == Some(byte) {
                end += 1;
            }
            nodes.push(node(byte));
            waiting.push_back((from, end, depth + 1));
            from = end;
        }
        parent += 1;
    }
    nodes
}

/// Rules, strings and nodes are fewer than the bytes of a file.
fn index(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(NONE)
}
