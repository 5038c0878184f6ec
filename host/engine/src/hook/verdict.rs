//! Applies the answers of hooks to a page, one hook after the other.

use super::call::PAGE_POINTS;
use super::{
    Discovery, FoundLink, HookFailure, HookPoints, HookReason, HookRecord, JudgedLink, LinkVerdict,
    MAX_ADDED, MAX_REASON_BYTES, MAX_RECORDS, MAX_URL_BYTES, PageFate, PageVerdict, PageWork,
    RecordVerdict, ResponseVerdict, RetryLater, WantedUrl,
};
use crate::error::PluginError;
use crate::limits::Limits;
use crate::manifest::HookPoint;
use crate::output;
use crate::text::clean;

/// A page between two hooks.
pub(crate) struct PageState {
    pub work: PageWork,
    verdict: PageVerdict,
}

impl PageState {
    pub fn new(work: PageWork) -> Self {
        let links = work
            .links
            .iter()
            .map(|link| JudgedLink {
                url: link.url.clone(),
                ..JudgedLink::default()
            })
            .collect();
        Self {
            work,
            verdict: PageVerdict {
                links,
                ..PageVerdict::default()
            },
        }
    }

    pub fn finish(self) -> PageVerdict {
        self.verdict
    }

    /// Records that a hook failed; what it was to decide stays as it is.
    pub fn failed(&mut self, hook: &str, point: HookPoint, error: PluginError) {
        self.verdict.failures.push(HookFailure {
            hook: hook.to_owned(),
            point,
            error,
        });
    }

    /// Whether a function is of use for the page as it stands.
    pub fn wants(&self, point: HookPoint) -> bool {
        match point {
            HookPoint::Response => matches!(self.verdict.fate, PageFate::Kept),
            HookPoint::Record => matches!(self.verdict.fate, PageFate::Kept),
            // A hook may add URLs to a page without new links.
            HookPoint::Discover => !matches!(self.verdict.fate, PageFate::Retry(..)),
            HookPoint::Request | HookPoint::Deliver => false,
        }
    }

    /// Whether any of these functions is called for the page as it stands.
    pub fn wants_any(&self, functions: HookPoints) -> bool {
        let asked = functions.and(self.work.points);
        let mut points = PAGE_POINTS.into_iter();
        points.any(|point| asked.has(point) && self.wants(point))
    }

    /// Records of earlier hooks.
    pub fn records(&self) -> Vec<String> {
        let records = self.verdict.records.iter();
        records.map(|record| record.data.clone()).collect()
    }

    /// Links that no hook has skipped, with their indexes.
    pub fn open_links(&self) -> (Vec<usize>, Vec<&FoundLink>) {
        let links = self.verdict.links.iter().zip(&self.work.links);
        links
            .enumerate()
            .filter(|(_, (judged, _))| judged.skipped.is_none())
            .map(|(index, (_, link))| (index, link))
            .unzip()
    }

    /// Returns a line for the hook's log if the page is to be fetched again.
    pub fn apply_response(&mut self, hook: &str, verdict: ResponseVerdict) -> Option<String> {
        match verdict {
            ResponseVerdict::Accept => None,
            ResponseVerdict::Retry(RetryLater {
                delay_ms,
                reason: why,
            }) => {
                let longest = self.work.retry_within?;
                let longest = u32::try_from(longest.as_millis()).unwrap_or(u32::MAX);
                let wait = delay_ms.min(longest);
                let bounded = match delay_ms > longest {
                    true => format!(" and not {delay_ms} ms, for a crawl waits no longer"),
                    false => String::new(),
                };
                let url = &self.work.visit.url;
                let line = format!("{url} is fetched again in {wait} ms{bounded}: {why}");
                self.verdict.fate = PageFate::Retry(wait, reason(hook, &why));
                Some(line)
            }
            ResponseVerdict::Drop(why) => {
                self.drop_page(hook, &why);
                None
            }
        }
    }

    /// # Errors
    /// [`PluginError`]: a record is not JSON, or there are too many.
    pub fn apply_record(
        &mut self,
        hook: &str,
        verdict: RecordVerdict,
        limits: &Limits,
    ) -> Result<(), PluginError> {
        let (records, kept) = match verdict {
            RecordVerdict::Keep => return Ok(()),
            RecordVerdict::Drop(why) => {
                self.drop_page(hook, &why);
                return Ok(());
            }
            RecordVerdict::Emit(records) => (records, self.verdict.records.len()),
            RecordVerdict::Replace(records) => (records, 0),
        };
        if kept + records.len() > MAX_RECORDS {
            return Err(PluginError::BadOutput(format!(
                "more than {MAX_RECORDS} records of one page"
            )));
        }
        output::check_all(&records, limits)?;
        self.verdict.records.truncate(kept);
        let records = records.into_iter().map(|data| HookRecord {
            hook: hook.to_owned(),
            data,
        });
        self.verdict.records.extend(records);
        Ok(())
    }

    /// `open` are the indexes of the links that the hook was given.
    ///
    /// # Errors
    /// [`PluginError::BadOutput`]: not one verdict for each link, too many URLs, or too long ones.
    pub fn apply_discovery(
        &mut self,
        hook: &str,
        open: &[usize],
        discovery: Discovery,
    ) -> Result<(), PluginError> {
        let bad = |why: String| Err(PluginError::BadOutput(why));
        let Discovery { verdicts, added } = discovery;
        if verdicts.len() != open.len() {
            let (got, given) = (verdicts.len(), open.len());
            return bad(format!("{got} verdicts for {given} links"));
        }
        if added.len() > MAX_ADDED {
            return bad(format!("more than {MAX_ADDED} added URLs for one page"));
        }
        let rewritten = verdicts.iter().filter_map(|verdict| match verdict {
            LinkVerdict::Rewrite(url) => Some(url),
            LinkVerdict::Follow(_) | LinkVerdict::Skip(_) => None,
        });
        if rewritten
            .chain(&added)
            .any(|url| url.url.len() > MAX_URL_BYTES)
        {
            return bad(format!("a URL of more than {MAX_URL_BYTES} bytes"));
        }
        for (index, verdict) in open.iter().zip(verdicts) {
            let (Some(judged), Some(link)) = (
                self.verdict.links.get_mut(*index),
                self.work.links.get_mut(*index),
            ) else {
                continue;
            };
            match verdict {
                LinkVerdict::Follow(priority) => judged.priority = priority,
                LinkVerdict::Skip(why) => judged.skipped = Some(reason(hook, &why)),
                LinkVerdict::Rewrite(WantedUrl { url, priority }) => {
                    judged.priority = priority;
                    if url != link.url {
                        judged.is_changed = true;
                        judged.url.clone_from(&url);
                        link.url = url;
                    }
                }
            }
        }
        for WantedUrl { url, priority } in added {
            self.work.links.push(FoundLink {
                url: url.clone(),
                ..FoundLink::default()
            });
            self.verdict.links.push(JudgedLink {
                url,
                priority,
                is_changed: true,
                skipped: None,
            });
        }
        Ok(())
    }

    fn drop_page(&mut self, hook: &str, why: &str) {
        self.verdict.fate = PageFate::Dropped(reason(hook, why));
        self.verdict.records.clear();
    }
}

fn reason(hook: &str, why: &str) -> HookReason {
    HookReason {
        hook: hook.to_owned(),
        reason: clean(why, MAX_REASON_BYTES),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hook::Visit;
    use crate::limits::LimitsConfig;
    use crate::page::Page;

    fn state(links: &[&str]) -> PageState {
        PageState::new(PageWork {
            page: Page::from_html("https://example.org/", ""),
            visit: Visit::default(),
            points: HookPoints::NONE,
            outputs: Vec::new(),
            links: links
                .iter()
                .map(|url| FoundLink {
                    url: (*url).to_owned(),
                    ..FoundLink::default()
                })
                .collect(),
            retry_within: Some(std::time::Duration::from_secs(120)),
        })
    }

    fn wanted(url: &str, priority: i32) -> WantedUrl {
        WantedUrl {
            url: url.to_owned(),
            priority,
        }
    }

    fn limits() -> Limits {
        LimitsConfig::default().hook.default
    }

    #[test]
    fn a_hook_sees_what_earlier_hooks_have_left() {
        let mut state = state(&["a", "b", "c"]);
        let first = Discovery {
            verdicts: vec![
                LinkVerdict::Skip("no\u{1b}[2J".to_owned()),
                LinkVerdict::Rewrite(wanted("b2", 5)),
                LinkVerdict::Follow(1),
            ],
            added: vec![wanted("d", 2)],
        };
        state.apply_discovery("one", &[0, 1, 2], first).unwrap();
        let (open, links) = state.open_links();
        let urls: Vec<&str> = links.iter().map(|link| link.url.as_str()).collect();
        assert_eq!(
            (open.as_slice(), urls),
            (&[1, 2, 3][..], vec!["b2", "c", "d"])
        );
        let second = Discovery {
            verdicts: vec![
                LinkVerdict::Follow(7),
                LinkVerdict::Skip("late".to_owned()),
                LinkVerdict::Follow(0),
            ],
            added: Vec::new(),
        };
        state.apply_discovery("two", &[1, 2, 3], second).unwrap();
        let links = state.finish().links;
        assert_eq!(links.len(), 4);
        let skipped = |index: usize| links[index].skipped.clone().map(|why| why.hook);
        assert_eq!(skipped(0).as_deref(), Some("one"));
        assert_eq!(skipped(2).as_deref(), Some("two"));
        assert!(!links[0].skipped.as_ref().unwrap().reason.contains('\u{1b}'));
        assert_eq!((links[1].url.as_str(), links[1].priority), ("b2", 7));
        assert_eq!((links[1].is_changed, links[2].is_changed), (true, false));
        assert_eq!((links[3].url.as_str(), links[3].is_changed), ("d", true));
    }

    #[test]
    fn a_wait_is_bounded_by_the_crawl_and_told_in_the_log() {
        let retry = |delay_ms| {
            ResponseVerdict::Retry(RetryLater {
                delay_ms,
                reason: "not yet".to_owned(),
            })
        };
        for (asked, waits, told) in [
            (5, 5, " is fetched again in 5 ms: not yet"),
            (
                u32::MAX,
                120_000,
                " is fetched again in 120000 ms and not 4294967295 ms, for a crawl waits no longer: not yet",
            ),
        ] {
            let mut state = state(&[]);
            assert_eq!(
                state.apply_response("h", retry(asked)).as_deref(),
                Some(told)
            );
            let PageFate::Retry(delay_ms, why) = state.finish().fate else {
                panic!("it is fetched again");
            };
            assert_eq!((delay_ms, why.reason.as_str()), (waits, "not yet"));
        }
        let mut last = state(&[]);
        last.work.retry_within = None;
        assert_eq!(last.apply_response("h", retry(5)), None);
        assert!(matches!(last.finish().fate, PageFate::Kept));
    }

    #[test]
    fn an_answer_that_breaks_a_bound_changes_nothing() {
        let mut state = state(&["a"]);
        let long = "x".repeat(MAX_URL_BYTES + 1);
        for bad in [
            Discovery::default(),
            Discovery {
                verdicts: vec![LinkVerdict::Follow(1); 2],
                ..Discovery::default()
            },
            Discovery {
                verdicts: vec![LinkVerdict::Rewrite(wanted(&long, 0))],
                ..Discovery::default()
            },
            Discovery {
                verdicts: vec![LinkVerdict::Skip(String::new())],
                added: vec![wanted("b", 0); MAX_ADDED + 1],
            },
        ] {
            let error = state.apply_discovery("h", &[0], bad).unwrap_err();
            assert!(matches!(error, PluginError::BadOutput(_)), "{error}");
        }
        for bad in [
            RecordVerdict::Emit(vec!["{}".to_owned(), "{".to_owned()]),
            RecordVerdict::Replace(vec!["1".to_owned(); MAX_RECORDS + 1]),
            RecordVerdict::Emit(vec![format!("\"{}\"", "x".repeat(2 << 20))]),
        ] {
            assert!(state.apply_record("h", bad, &limits()).is_err());
        }
        let verdict = state.finish();
        assert!(verdict.links[0].skipped.is_none() && verdict.links[0].priority == 0);
        assert!(verdict.records.is_empty());
    }

    #[test]
    fn records_are_added_replaced_and_dropped() {
        let mut state = state(&[]);
        let one = |text: &str| vec![text.to_owned()];
        for (hook, verdict) in [
            ("a", RecordVerdict::Emit(one("1"))),
            ("b", RecordVerdict::Keep),
            ("c", RecordVerdict::Emit(one("2"))),
        ] {
            state.apply_record(hook, verdict, &limits()).unwrap();
        }
        assert_eq!(state.records(), ["1", "2"]);
        let replaced = RecordVerdict::Replace(one("3"));
        state.apply_record("d", replaced, &limits()).unwrap();
        assert_eq!(state.verdict.records[0].hook, "d");
        assert_eq!(state.records(), ["3"]);
        assert!(state.wants(HookPoint::Record));
        let dropped = RecordVerdict::Drop("not ours".to_owned());
        state.apply_record("e", dropped, &limits()).unwrap();
        assert!(!state.wants(HookPoint::Record) && state.wants(HookPoint::Discover));
        let verdict = state.finish();
        assert!(verdict.records.is_empty());
        let PageFate::Dropped(why) = verdict.fate else {
            panic!("{:?}", verdict.fate);
        };
        assert_eq!((why.hook.as_str(), why.reason.as_str()), ("e", "not ours"));
    }
}
