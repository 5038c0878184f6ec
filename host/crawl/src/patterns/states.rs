//! One step of a nondeterministic automaton: which of its states a text leads to. Tables are made of
//! these steps, and texts are matched by them where a table would be too large.

use regex_automata::nfa::thompson::{Compiler, Config, NFA, State, WhichCaptures};
use regex_automata::util::primitives::StateID;
use regex_syntax::hir::Hir;

/// The patterns of one automaton, none of which is more than a part of ASCII.
#[derive(Clone, Debug)]
pub(super) struct States {
    nfa: NFA,
    /// It matches at the start of a text only.
    anchored: bool,
    /// Whether what it matches depends on the byte before, and on the byte behind.
    looks_back: bool,
    looks_ahead: bool,
}

/// Where a text has led to.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Position {
    /// In order, each once.
    states: Vec<StateID>,
    /// The byte before, or one that is as good for every assertion; none at the start.
    before: Option<u8>,
}

/// Memory of steps, which is used again for the next one.
#[derive(Debug, Default)]
pub(super) struct Walk {
    stack: Vec<StateID>,
    /// The number of the walk that was last at each state.
    seen: Vec<u64>,
    walks: u64,
    /// States that take a byte.
    taking: Vec<StateID>,
    /// The work so far: states looked at.
    pub(super) steps: u64,
}

impl States {
    /// Compiles patterns to states of at most `bytes` bytes together; none if they have more.
    pub(super) fn compile(patterns: &[&Hir], bytes: usize) -> Option<Self> {
        let config = Config::new()
            .utf8(false)
            .shrink(false)
            .nfa_size_limit(Some(bytes))
            .which_captures(WhichCaptures::None);
        let nfa = Compiler::new()
            .configure(config)
            .build_many_from_hir(patterns)
            .ok()?;
        let looks = nfa.look_set_any();
        Some(Self {
            anchored: nfa.is_always_start_anchored(),
            looks_back: !looks.is_empty(),
            looks_ahead: looks.contains_word() || looks.contains_anchor_line(),
            nfa,
        })
    }

    /// Number of states.
    pub(super) fn len(&self) -> usize {
        self.nfa.states().len()
    }

    /// Whether a position depends on the byte that follows, besides on whether one does.
    pub(super) const fn looks_ahead(&self) -> bool {
        self.looks_ahead
    }

    /// The class of every byte, and a byte of each class of ASCII.
    pub(super) fn classes(&self) -> (Vec<u8>, Vec<(u8, u8)>) {
        let classes = self.nfa.byte_classes();
        let bytes = classes
            .representatives(0..=0x7f)
            .filter_map(|unit| unit.as_u8());
        (
            (0..=u8::MAX).map(|byte| classes.get(byte)).collect(),
            bytes.map(|byte| (classes.get(byte), byte)).collect(),
        )
    }

    /// The position at the start of a text.
    pub(super) fn start(&self) -> Position {
        Position {
            states: vec![self.nfa.start_anchored()],
            before: None,
        }
    }

    /// Looks at all states of a position, before `next` or the end. Returns whether a pattern has
    /// matched; else `walk` has the states that take a byte.
    pub(super) fn look(&self, at: &Position, next: Option<u8>, walk: &mut Walk) -> bool {
        walk.walks += 1;
        walk.seen.resize(self.len(), 0);
        walk.taking.clear();
        walk.stack.clear();
        walk.stack.extend(at.states.iter().rev());
        let around: Vec<u8> = at.before.into_iter().chain(next).collect();
        let place = usize::from(at.before.is_some());
        while let Some(id) = walk.stack.pop() {
            match walk.seen.get_mut(id.as_usize()) {
                Some(seen) if *seen != walk.walks => *seen = walk.walks,
                _ => continue,
            }
            walk.steps += 1;
            match self.nfa.state(id) {
                State::ByteRange { .. } | State::Sparse(_) | State::Dense(_) => {
                    walk.taking.push(id);
                }
                State::Look { look, next } => {
                    if self.nfa.look_matcher().matches(*look, &around, place) {
                        walk.stack.push(*next);
                    }
                }
                State::Union { alternates } => walk.stack.extend(alternates.iter().rev()),
                State::BinaryUnion { alt1, alt2 } => walk.stack.extend([*alt2, *alt1]),
                State::Capture { next, .. } => walk.stack.push(*next),
                State::Fail => {}
                State::Match { .. } => return true,
            }
        }
        false
    }

    /// The position after `byte`, from the states that [`look`](Self::look) found; none if nothing
    /// can match any more.
    pub(super) fn after(&self, byte: u8, walk: &mut Walk) -> Option<Position> {
        walk.steps += walk.taking.len() as u64;
        let taking = walk.taking.iter();
        let mut states: Vec<StateID> = taking
            .filter_map(|id| match self.nfa.state(*id) {
                State::ByteRange { trans } => trans.matches_byte(byte).then_some(trans.next),
                State::Sparse(many) => many.matches_byte(byte),
                State::Dense(many) => many.matches_byte(byte),
                _ => None,
            })
            .collect();
        if !self.anchored {
            states.push(self.nfa.start_anchored());
        }
        states.sort_unstable();
        states.dedup();
        (!states.is_empty()).then(|| Position {
            states,
            before: self.looks_back.then(|| like(byte)),
        })
    }

    /// Whether a text matches, by steps.
    pub(super) fn is_match(&self, text: &[u8], walk: &mut Walk) -> bool {
        let mut at = self.start();
        for byte in text {
            if self.look(&at, Some(*byte), walk) {
                return true;
            }
            match self.after(*byte, walk) {
                Some(next) => at = next,
                None => return false,
            }
        }
        self.look(&at, None, walk)
    }
}

/// A byte that assertions cannot tell from this one.
const fn like(byte: u8) -> u8 {
    match byte {
        b'\n' | b'\r' => byte,
        b'_' | b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' => b'a',
        _ => b'/',
    }
}
