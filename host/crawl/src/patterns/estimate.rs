//! The size of a pattern before it is compiled: repeats multiply, and a Unicode class is hundreds of
//! ranges.

use regex_syntax::ast::parse::ParserBuilder;
use regex_syntax::ast::{
    self, Ast, ClassPerl, ClassPerlKind, ClassSetItem, RepetitionKind, RepetitionRange,
};

use super::{MAX_NESTING, fault};

/// The time to read Unicode classes, in units of a literal's. Only what they have of ASCII is
/// compiled, and repeated.
const DIGIT: u64 = 100;
const SPACE: u64 = 20;
const WORD: u64 = 300;
const PROPERTY: u64 = 300;
/// Estimated states of a class of ASCII.
const CLASS: u64 = 2;
/// Estimated states of a repeat itself.
const REPEAT: u64 = 4;

/// The estimated number of compiled states, with the time to read the classes, or why the pattern is invalid. Linear time.
pub(super) fn estimate(pattern: &str, unicode: bool) -> Result<u64, String> {
    let parsed = ParserBuilder::new()
        .nest_limit(MAX_NESTING)
        .build()
        .parse(pattern);
    let ast = parsed.map_err(|error| fault(&error.to_string()))?;
    ast::visit(
        &ast,
        Estimate {
            unicode,
            states: 0,
            classes: 0,
            optional: 0,
            open: Vec::new(),
        },
    )
    .map_err(str::to_owned)
}

/// Sums states: the content of a repeat is counted as often as it is repeated.
struct Estimate {
    /// Classes are Unicode.
    unicode: bool,
    states: u64,
    /// The time to read the classes.
    classes: u64,
    /// Optional parts: the state of each leads to those of all that follow.
    optional: u64,
    /// States and optional parts before each open repeat.
    open: Vec<(u64, u64)>,
}

impl ast::Visitor for Estimate {
    type Output = u64;
    type Err = &'static str;

    fn finish(self) -> Result<u64, &'static str> {
        let leads = self.optional.saturating_mul(self.optional) / 2;
        Ok(self
            .states
            .saturating_add(leads)
            .saturating_add(self.classes))
    }

    fn visit_pre(&mut self, ast: &Ast) -> Result<(), &'static str> {
        let states = match ast {
            Ast::Dot(_) => CLASS,
            // Its items follow; a negated class is everything else.
            Ast::ClassBracketed(class) if class.negated => CLASS,
            Ast::ClassUnicode(_) => {
                self.read(PROPERTY);
                CLASS
            }
            Ast::ClassPerl(class) => {
                self.perl(class);
                CLASS
            }
            Ast::Repetition(_) => REPEAT,
            _ => 1,
        };
        self.states = self.states.saturating_add(states);
        if matches!(ast, Ast::Repetition(_)) {
            self.open.push((self.states, self.optional));
        }
        Ok(())
    }

    fn visit_post(&mut self, ast: &Ast) -> Result<(), &'static str> {
        if let Ast::Repetition(repetition) = ast {
            let times = match &repetition.op.kind {
                RepetitionKind::Range(
                    RepetitionRange::Exactly(n)
                    | RepetitionRange::AtLeast(n)
                    | RepetitionRange::Bounded(_, n),
                ) => u64::from(*n).max(1),
                RepetitionKind::ZeroOrOne | RepetitionKind::ZeroOrMore => {
                    self.optional = self.optional.saturating_add(1);
                    1
                }
                RepetitionKind::OneOrMore => 1,
            };
            let (states, optional) = self.open.pop().unwrap_or_default();
            let repeated = |all: u64, before: u64| {
                let inner = all.saturating_sub(before);
                before.saturating_add(inner.saturating_mul(times))
            };
            self.states = repeated(self.states, states);
            self.optional = repeated(self.optional, optional);
        }
        Ok(())
    }

    fn visit_class_set_item_pre(&mut self, item: &ClassSetItem) -> Result<(), &'static str> {
        match item {
            ClassSetItem::Unicode(_) => self.read(PROPERTY),
            ClassSetItem::Perl(class) => self.perl(class),
            ClassSetItem::Range(range) if !range.end.c.is_ascii() => self.read(PROPERTY),
            // ASCII.
            _ => {}
        }
        Ok(())
    }
}

impl Estimate {
    fn read(&mut self, units: u64) {
        self.classes = self.classes.saturating_add(units);
    }

    fn perl(&mut self, class: &ClassPerl) {
        if self.unicode {
            self.read(match class.kind {
                ClassPerlKind::Digit => DIGIT,
                ClassPerlKind::Space => SPACE,
                ClassPerlKind::Word => WORD,
            });
        }
    }
}
