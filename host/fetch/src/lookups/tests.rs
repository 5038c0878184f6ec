use std::sync::Condvar;
use std::sync::Mutex as StdMutex;

use futures::future::join_all;

use super::*;

const A: Asker = Some(ProjectId(1));
const B: Asker = Some(ProjectId(2));
/// Of a test that fails.
const LONG: Duration = Duration::from_secs(60);

/// Names that begin with `dead` block their threads until the gate is opened.
#[derive(Default)]
struct Gate {
    asked: StdMutex<Vec<String>>,
    is_open: StdMutex<bool>,
    changed: Condvar,
}

impl Gate {
    fn lookups() -> (Arc<Self>, Lookups) {
        Self::lookups_with(LONG)
    }

    fn lookups_with(max_wait: Duration) -> (Arc<Self>, Lookups) {
        let gate = Arc::new(Self::default());
        let own = Arc::clone(&gate);
        (gate, Lookups::with(max_wait, move |name| own.ask(name)))
    }

    fn ask(&self, name: &str) -> Answer {
        self.asked.lock().unwrap().push(name.to_owned());
        self.changed.notify_all();
        if name.starts_with("dead") {
            let is_open = self.is_open.lock().unwrap();
            let _open = self
                .changed
                .wait_while(is_open, |is_open| !*is_open)
                .unwrap();
        }
        if name.starts_with("none") {
            return Err(ResolveError::NxDomain);
        }
        Ok(vec![IpAddr::from([127, 0, 0, 1])])
    }

    fn open(&self) {
        *self.is_open.lock().unwrap() = true;
        self.changed.notify_all();
    }

    fn asked(&self, name: &str) -> usize {
        let asked = self.asked.lock().unwrap();
        asked.iter().filter(|asked| *asked == name).count()
    }

    /// Waits until so many lookups have begun.
    fn begun(&self, count: usize) {
        let asked = self.asked.lock().unwrap();
        let (_asked, waited) = self
            .changed
            .wait_timeout_while(asked, LONG, |asked| asked.len() < count)
            .unwrap();
        assert!(!waited.timed_out());
    }
}

async fn look_up(lookups: &Lookups, asker: Asker, name: &str) -> Answer {
    let lookup = asked_by(asker, lookups.resolve(name));
    tokio::time::timeout(LONG, lookup).await.expect("an answer")
}

/// Begins lookups that nobody waits for.
fn flood(lookups: &Lookups, asker: Asker, names: std::ops::Range<usize>) {
    for n in names {
        drop(lookups.join(asker, &format!("dead{n}")));
    }
}

fn is_idle(lookups: &Lookups) -> bool {
    let state = lookups.0.state.lock();
    state.free == THREADS
        && state.names.is_empty()
        && state.lines.is_empty()
        && state.turns.is_empty()
}

/// Until everything has ended.
async fn settled(lookups: &Lookups) {
    let idle = async {
        while !is_idle(lookups) {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    tokio::time::timeout(LONG, idle).await.expect("all ends");
}

#[tokio::test]
async fn a_flood_of_dead_names_leaves_threads_to_others() {
    let (gate, lookups) = Gate::lookups();
    let waiting: Vec<_> = (0..600)
        .map(|n| lookups.join(A, &format!("dead{n}")).unwrap())
        .collect();
    gate.begun(96);
    for n in 0..300 {
        look_up(&lookups, B, &format!("b{n}")).await.unwrap();
    }
    look_up(&lookups, None, "own").await.unwrap();
    assert_eq!(lookups.0.state.lock().free, 32);
    assert_eq!(gate.asked.lock().unwrap().len(), 96 + 300 + 1);
    gate.open();
    drop(waiting);
    settled(&lookups).await;
}

#[tokio::test]
async fn a_lookup_that_nobody_waits_for_keeps_its_thread() {
    let (gate, lookups) = Gate::lookups();
    for round in 0..3 {
        flood(&lookups, A, round * 200..(round + 1) * 200);
    }
    gate.begun(96);
    flood(&lookups, A, 600..800);
    assert_eq!(lookups.0.state.lock().free, 32);
    gate.open();
    settled(&lookups).await;
    // What nobody waits for is not begun.
    assert_eq!(gate.asked.lock().unwrap().len(), 96);
}

#[tokio::test]
async fn a_name_is_looked_up_once_for_all_and_in_nobody_elses_line() {
    let (gate, lookups) = Gate::lookups();
    flood(&lookups, A, 0..96);
    let mut in_line = lookups.join(A, "shared").unwrap();
    let again = lookups.join(A, "shared").unwrap();
    assert!(matches!(*in_line.borrow(), Step::Waiting));
    look_up(&lookups, B, "shared").await.unwrap();
    // Whoever stands in the other line has the answer, too.
    let done = in_line.wait_for(|step| matches!(step, Step::Done(Ok(_))));
    done.await.unwrap();
    assert_eq!(gate.asked("shared"), 1);
    let (first, second) = (
        lookups.join(B, "dead-shared").unwrap(),
        lookups.join(A, "dead-shared").unwrap(),
    );
    gate.open();
    for mut step in [first, second] {
        let done = step.wait_for(|step| matches!(step, Step::Done(Ok(_))));
        done.await.unwrap();
    }
    assert_eq!(gate.asked("dead-shared"), 1);
    drop((in_line, again));
    settled(&lookups).await;
}

#[tokio::test]
async fn a_name_whose_turn_does_not_come_is_busy() {
    let (gate, lookups) = Gate::lookups_with(Duration::from_millis(1));
    flood(&lookups, A, 0..96);
    let late = look_up(&lookups, A, "late").await;
    assert_eq!(late, Err(ResolveError::Busy));
    let waiting: Vec<_> = (0..MAX_WAITING)
        .map(|n| lookups.join(A, &format!("waits{n}")).unwrap())
        .collect();
    assert!(matches!(lookups.join(A, "more"), Err(ResolveError::Busy)));
    drop(waiting);
    // Those that nobody waits for any more make room.
    drop(lookups.join(A, "more").unwrap());
    gate.open();
    settled(&lookups).await;
}

#[tokio::test]
async fn greedy_projects_leave_threads_to_the_next_one() {
    let (gate, lookups) = Gate::lookups();
    for (project, begun) in [(1, 96), (2, 120), (3, 126)] {
        let asker = Some(ProjectId(project));
        // Kept in line while they wait.
        let waiting: Vec<_> = (0..200)
            .map(|n| lookups.join(asker, &format!("dead{project}-{n}")).unwrap())
            .collect();
        gate.begun(begun);
        assert_eq!(lookups.0.state.lock().free, THREADS - begun);
        drop(waiting);
    }
    look_up(&lookups, Some(ProjectId(4)), "good").await.unwrap();
    gate.open();
    settled(&lookups).await;
}

#[tokio::test]
async fn answers_that_come_late_are_there_for_the_next_one() {
    let (gate, lookups) = Gate::lookups();
    flood(&lookups, A, 0..1);
    gate.open();
    settled(&lookups).await;
    look_up(&lookups, B, "dead0").await.unwrap();
    assert_eq!(gate.asked("dead0"), 1);
    // Others are asked for anew each time.
    join_all([look_up(&lookups, A, "none"), look_up(&lookups, B, "fresh")]).await;
    join_all([look_up(&lookups, A, "none"), look_up(&lookups, B, "fresh")]).await;
    assert_eq!((gate.asked("none"), gate.asked("fresh")), (2, 2));
}

#[test]
fn failures_that_took_long_are_kept_for_as_long() {
    let seconds = Duration::from_secs;
    let failed = Err(ResolveError::ServFail);
    assert_eq!(life(&failed, Duration::from_millis(900), true), None);
    assert_eq!(life(&failed, seconds(10), true), Some(seconds(10)));
    assert_eq!(life(&failed, seconds(50), false), Some(seconds(30)));
    let none = Err(ResolveError::NxDomain);
    assert_eq!(life(&none, seconds(50), true), None);
    assert_eq!(life(&Ok(Vec::new()), seconds(50), true), None);
    assert_eq!(life(&Ok(Vec::new()), seconds(50), false), Some(LATE_LIFE));
}

#[tokio::test]
async fn a_lookup_that_panics_gives_its_thread_back() {
    let lookups = Lookups::new(|name| match name {
        "good" => Ok(vec![IpAddr::from([127, 0, 0, 1])]),
        _ => panic!("a test"),
    });
    // Most wait for the thread of another one.
    let names: Vec<String> = (0..3 * THREADS).map(|n| format!("bad{n}")).collect();
    for failed in join_all(names.iter().map(|name| look_up(&lookups, A, name))).await {
        assert!(matches!(failed, Err(ResolveError::Other(_))), "{failed:?}");
    }
    look_up(&lookups, A, "good").await.unwrap();
    settled(&lookups).await;
}
