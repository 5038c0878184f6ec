//! The rule that public async functions of the crates below `api` return boxed futures.
//!
//! rustc compiles the future of an `async fn` in each crate that awaits it. Boxed behind
//! `dyn Future`, it is compiled once, in its own crate: that halves the time to build `api` and
//! `server`, which await nearly everything.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};

use crate::shell::root;

/// Crates whose public async functions other crates await.
const CRATES: [&str; 7] = [
    "store", "fetch", "accounts", "engine", "pipeline", "crawl", "actors",
];

/// Public async functions without `#[crate::boxed]`, each as `file:line: name`.
pub fn check() -> Result<Vec<String>> {
    let mut broken = Vec::new();
    for name in CRATES {
        visit(&root().join("host").join(name).join("src"), &mut broken)?;
    }
    Ok(broken)
}

fn visit(folder: &Path, broken: &mut Vec<String>) -> Result<()> {
    let entries =
        fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    for entry in entries {
        let path = entry?.path();
        if path.is_dir() {
            visit(&path, broken)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let source = fs::read_to_string(&path)?;
            let shown = path.strip_prefix(root()).unwrap_or(&path).display();
            for (line, name) in unboxed(&source) {
                broken.push(format!(
                    "{shown}:{line}: {name} must have #[crate::boxed], or be pub(crate)"
                ));
            }
        }
    }
    Ok(())
}

/// Line and name of each public async function that could be boxed and is not. One that is
/// generic is compiled where it is called in any case.
fn unboxed(source: &str) -> Vec<(usize, &str)> {
    let lines: Vec<&str> = source.lines().collect();
    let mut found = Vec::new();
    for (index, line) in lines.iter().enumerate() {
        let Some(rest) = line.trim_start().strip_prefix("pub async fn ") else {
            continue;
        };
        let end = rest.find(['(', '<']).unwrap_or(rest.len());
        let (name, rest) = rest.split_at(end);
        let boxed = index > 0 && lines[index - 1].trim() == "#[crate::boxed]";
        let signature: String = lines[index..]
            .iter()
            .take_while(|line| !line.contains('{'))
            .chain(lines[index..].iter().find(|line| line.contains('{')))
            .copied()
            .collect();
        let generic = signature.contains("impl ")
            || rest.strip_prefix('<').is_some_and(|parameters| {
                parameters.starts_with(|first: char| first.is_ascii_uppercase())
            });
        if !boxed && !generic {
            found.push((index + 1, name));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::unboxed;

    #[test]
    fn a_public_async_function_is_boxed_unless_it_is_generic() {
        let source = "
            pub async fn plain(&self) {}
            #[crate::boxed]
            pub async fn boxed(&self) {}
            pub async fn generic<T: Send>(value: T) {}
            pub async fn takes(
                make: impl Fn(),
            ) {}
            pub(crate) async fn inner() {}
            pub async fn long(
                one: u8,
            ) -> u8 {
                let two: impl Sized = one;
            }
        ";
        let names: Vec<_> = unboxed(source).into_iter().map(|(_, name)| name).collect();
        assert_eq!(names, ["plain", "long"]);
    }
}
