//! Checks that RULES.md equals the table in the code.

use orbweaver_actor_audit_onpage::Severity;
use orbweaver_actor_audit_onpage::rules::RULES;

/// The documentation page generated from the table.
fn table() -> String {
    let mut out = format!(
        "# Rules of audit-onpage\n\nThe {} rules that a page is checked by. Generated from `src/rules.rs`:\n`ORBWEAVER_WRITE_RULES=1 cargo test -p orbweaver-actor-audit-onpage --test table` writes it.\n",
        RULES.len()
    );
    let mut area = "";
    for rule in RULES {
        if rule.area != area {
            area = rule.area;
            out.push_str(&format!("\n## {area}\n\n| rule | severity | a page breaks it when | see |\n|---|---|---|---|\n"));
        }
        let severity = match rule.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Info => "info",
        };
        out.push_str(&format!(
            "| `{}` | {severity} | {} | {} |\n",
            rule.id, rule.breaks, rule.source
        ));
    }
    out
}

#[test]
fn the_documentation_equals_the_table() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/RULES.md");
    if std::env::var_os("ORBWEAVER_WRITE_RULES").is_some() {
        std::fs::write(path, table()).unwrap_or_else(|error| unreachable!("{path}: {error}"));
    }
    let written = std::fs::read_to_string(path).unwrap_or_default();
    assert_eq!(
        written,
        table(),
        "RULES.md differs from the table in src/rules.rs"
    );
}
