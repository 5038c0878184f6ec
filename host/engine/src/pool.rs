//! Worker threads for extractors: without fibers or task switches; each runs one call at a time.
//! The jobs of projects are taken in turn, so that many jobs of one do not delay those of another.

use std::collections::VecDeque;
use std::sync::Arc;
use std::thread;

use orbweaver_core::ids::ProjectId;
use parking_lot::{Condvar, Mutex};

use crate::tenancy::lower_priority;

type Job = Box<dyn FnOnce(&Workers) + Send>;

/// A handle to the threads; they end when the last [`Pool`] is dropped.
pub(crate) struct Pool {
    workers: Arc<Workers>,
}

/// State shared by the threads.
pub(crate) struct Workers {
    queue: Mutex<Queue>,
    wake: Condvar,
}

#[derive(Default)]
struct Queue {
    jobs: Turns,
    idle: usize,
    closed: bool,
}

/// Jobs by project, the project whose turn it is first. No project has an empty queue here.
#[derive(Default)]
struct Turns {
    projects: VecDeque<(Option<ProjectId>, VecDeque<Job>)>,
    jobs: usize,
}

impl Turns {
    fn push(&mut self, project: Option<ProjectId>, job: Job) {
        self.jobs += 1;
        let mut projects = self.projects.iter_mut();
        match projects.find(|(waiting, _)| *waiting == project) {
            Some((_, jobs)) => jobs.push_back(job),
            None => self.projects.push_back((project, VecDeque::from([job]))),
        }
    }

    fn pop(&mut self) -> Option<Job> {
        let (project, mut jobs) = self.projects.pop_front()?;
        let job = jobs.pop_front();
        if !jobs.is_empty() {
            self.projects.push_back((project, jobs));
        }
        self.jobs -= usize::from(job.is_some());
        job
    }
}

impl Pool {
    pub fn new(threads: usize) -> std::io::Result<Self> {
        Self::with_threads(threads, "extractor", || ())
    }

    /// Threads that get less CPU time than others where both compete for it.
    pub fn of_low_priority(threads: usize) -> std::io::Result<Self> {
        Self::with_threads(threads, "tenant-extractor", lower_priority)
    }

    /// As [`of_low_priority`](Self::of_low_priority), for the instance's plugins.
    pub fn of_long_pages(threads: usize) -> std::io::Result<Self> {
        Self::with_threads(threads, "long-extractor", lower_priority)
    }

    fn with_threads(threads: usize, name: &str, begin: fn()) -> std::io::Result<Self> {
        let workers = Arc::new(Workers {
            queue: Mutex::new(Queue::default()),
            wake: Condvar::new(),
        });
        let pool = Self {
            workers: Arc::clone(&workers),
        };
        for i in 0..threads.max(1) {
            let workers = Arc::clone(&workers);
            thread::Builder::new()
                .name(format!("{name}-{i}"))
                .spawn(move || {
                    begin();
                    workers.work();
                })?;
        }
        Ok(pool)
    }

    /// Queues a job of a project, to run in the caller's span. The caller limits the number of
    /// queued jobs.
    pub fn spawn(&self, project: Option<ProjectId>, job: impl FnOnce(&Workers) + Send + 'static) {
        self.workers.spawn(project, job);
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.workers.queue.lock().closed = true;
        self.workers.wake.notify_all();
    }
}

impl Workers {
    /// Queues a job from within another job.
    pub fn spawn(&self, project: Option<ProjectId>, job: impl FnOnce(&Self) + Send + 'static) {
        let span = tracing::Span::current();
        let job = move |workers: &Self| span.in_scope(|| job(workers));
        self.queue.lock().jobs.push(project, Box::new(job));
        self.wake.notify_one();
    }

    /// Number of threads without a running or queued job.
    pub fn spare(&self) -> usize {
        let queue = self.queue.lock();
        queue.idle.saturating_sub(queue.jobs.jobs)
    }

    fn work(&self) {
        loop {
            let job = {
                let mut queue = self.queue.lock();
                loop {
                    if let Some(job) = queue.jobs.pop() {
                        break job;
                    }
                    if queue.closed {
                        return;
                    }
                    queue.idle += 1;
                    self.wake.wait(&mut queue);
                    queue.idle -= 1;
                }
            };
            // A panicking job fails its own caller, and does not end the thread.
            let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| job(self)));
            if outcome.is_err() {
                tracing::error!("an extractor job panicked");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn projects_take_turns_however_many_jobs_one_has() {
        let pool = Pool::new(1).unwrap();
        let (open, gate) = mpsc::channel::<()>();
        let (done, order) = mpsc::channel();
        // Holds the only thread until all jobs are queued.
        pool.spawn(None, move |_| gate.recv().unwrap());
        for (project, name) in [
            (1, "a1"),
            (1, "a2"),
            (1, "a3"),
            (2, "b1"),
            (3, "c1"),
            (2, "b2"),
        ] {
            let done = done.clone();
            pool.spawn(Some(ProjectId(project)), move |_| done.send(name).unwrap());
        }
        open.send(()).unwrap();
        drop(done);
        let order: Vec<_> = order.iter().collect();
        assert_eq!(order, ["a1", "b1", "c1", "a2", "b2", "a3"]);
    }
}
