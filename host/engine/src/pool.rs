//! Worker threads for extractors: without fibers or task switches; each runs one call at a time.

use std::collections::VecDeque;
use std::sync::Arc;
use std::thread;

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
    jobs: VecDeque<Job>,
    idle: usize,
    closed: bool,
}

impl Pool {
    pub fn new(threads: usize) -> std::io::Result<Self> {
        Self::with_threads(threads, "extractor", || ())
    }

    /// Threads that get less CPU time than others where both compete for it.
    pub fn of_low_priority(threads: usize) -> std::io::Result<Self> {
        Self::with_threads(threads, "tenant-extractor", lower_priority)
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

    /// Queues a job, to run in the caller's span. The caller limits the number of queued jobs.
    pub fn spawn(&self, job: impl FnOnce(&Workers) + Send + 'static) {
        self.workers.spawn(job);
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
    pub fn spawn(&self, job: impl FnOnce(&Self) + Send + 'static) {
        let span = tracing::Span::current();
        let job = move |workers: &Self| span.in_scope(|| job(workers));
        self.queue.lock().jobs.push_back(Box::new(job));
        self.wake.notify_one();
    }

    /// Number of threads without a running or queued job.
    pub fn spare(&self) -> usize {
        let queue = self.queue.lock();
        queue.idle.saturating_sub(queue.jobs.len())
    }

    fn work(&self) {
        loop {
            let job = {
                let mut queue = self.queue.lock();
                loop {
                    if let Some(job) = queue.jobs.pop_front() {
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
