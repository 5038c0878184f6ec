/** Milliseconds that one try may take: longer than the service works on a request (300 s by default), so
 * that its answer comes before the client gives up. */
export const TIMEOUT_MS = 310_000;
/** Longest pause before a further try; a cap that lasts longer is the caller's matter. */
const LONGEST_PAUSE_MS = 60_000;
/** Longest pause between two looks at the work of an earlier try. */
const LONGEST_LOOK_MS = 5_000;
/** Statuses that pass: a cap or a rate, and a server that starts or stops. */
const PASSING = [429, 503];
/** What certainly began no work: a cap or a rate. */
const REFUSING = [429];
/** POSTs that ignore an Idempotency-Key and do something new each time. */
const WITHOUT_KEY = /^\/v1\/(crawls\/[^/]+\/export|keys\/rotate|plugins\/[^/]+\/rollback|signup)$/;

/** A refusal, as far as it decides about a further try. */
export interface Refusal {
  status: number;
  /** Seconds, from `Retry-After`. */
  retryAfter: string | null;
  message: string;
}

/** The tries of one request: whether there is a further one, and when. */
export class Tries {
  /** The same in every try, so that a POST is done and billed once. */
  readonly key: string | undefined;
  readonly #isRepeatable: boolean;
  readonly #isDelete: boolean;
  readonly #retries: number;
  #patience: number;
  #again = 0;
  #looks = 0;
  #mayBeDone = false;

  /** `patienceMs` is how long the work of an earlier try is waited for. */
  constructor(method: string, path: string, retries: number, patienceMs: number) {
    const isPost = method === "POST";
    this.#isRepeatable = !(isPost && WITHOUT_KEY.test(path.replace(/\?.*$/s, "")));
    this.key = isPost && this.#isRepeatable ? crypto.randomUUID() : undefined;
    this.#isDelete = method === "DELETE";
    this.#retries = retries;
    this.#patience = patienceMs;
  }

  /**
   * Milliseconds before a further try; undefined where it makes no sense. A try without an answer has
   * no refusal.
   */
  pauseBefore(refusal: Refusal | undefined): number | undefined {
    if (refusal === undefined || !REFUSING.includes(refusal.status)) this.#mayBeDone = true;
    if (refusal !== undefined && this.#again > 0 && isHeld(refusal)) return this.#look();
    if (this.#again >= this.#retries) return undefined;
    let wait = doubled(this.#again, LONGEST_PAUSE_MS);
    if (refusal === undefined) {
      // Nobody knows whether it was done.
      if (!this.#isRepeatable) return undefined;
    } else {
      const passing = this.#isRepeatable ? PASSING : REFUSING;
      if (!passing.includes(refusal.status)) return undefined;
      if (refusal.retryAfter !== null && /^\d+$/.test(refusal.retryAfter)) {
        wait = Number(refusal.retryAfter) * 1_000;
        if (wait > LONGEST_PAUSE_MS) return undefined;
      }
    }
    this.#again += 1;
    return wait;
  }

  /** Whether what is to be removed is not there because an earlier try, whose answer was lost, removed it. */
  hasRemoved(status: number): boolean {
    return this.#isDelete && this.#mayBeDone && status === 404;
  }

  /**
   * The same for a try that broke off and is worked on: its answer is waited for, which is no further
   * try, since nothing is done again.
   */
  #look(): number | undefined {
    if (this.#patience <= 0) return undefined;
    const wait = Math.min(doubled(this.#looks, LONGEST_LOOK_MS), this.#patience);
    this.#patience -= wait;
    this.#looks += 1;
    return wait;
  }
}

/** One second, doubled so many times, with a part by chance. */
function doubled(count: number, most: number): number {
  return Math.min(1_000 * 2 ** count * (0.5 + Math.random() / 2), most);
}

/** Whether the first request with this key is still under way. */
function isHeld({ status, message }: Refusal): boolean {
  return status === 409 && message.includes("still being worked on");
}
