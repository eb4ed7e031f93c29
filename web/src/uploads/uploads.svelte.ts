/** Files that are being added: a queue that survives going from screen to screen. */
import { api, messageOf, result, type Schemas } from '../api';
import { toasts } from '../state/toasts.svelte';
import { words } from '../words';
import { Pace } from './pace';
import { Busy, Refusal, send } from './sending';
import { adviceOf, isPassing, reasonOf } from './reasons';

export type State =
  'waiting' | 'sending' | 'delayed' | 'queued' | 'reading' | 'following' | 'done' | 'failed' | 'cancelled';

const AT_ONCE = 2;
const POLL_MS = 1200;
const OPEN = new Set<State>(['waiting', 'sending', 'delayed', 'queued', 'reading', 'following']);

export class Upload {
  state = $state<State>('waiting');
  /** How much is done of what it does now, 0 to 1. */
  share = $state(0);
  /** What the server said of a failure, and what to do about it. */
  reason = $state('');
  advice = $state('');
  /** Whether the same file may be taken the next time. */
  canRetry = $state(true);
  documentId = $state('');
  jobId = '';
  /** Says to the server which requests are the same one, sent again. */
  key = crypto.randomUUID();
  abort = new AbortController();

  constructor(
    readonly file: File,
    readonly tags: readonly string[],
    /** The document whose place it takes once it is read, "" for none. */
    public replaces = '',
  ) {}

  get isOpen(): boolean {
    return OPEN.has(this.state);
  }

  fail(message: string, code: string): void {
    this.state = 'failed';
    this.reason = message;
    const reason = reasonOf(code, message);
    this.advice = adviceOf(reason);
    this.canRetry = isPassing(reason);
  }
}

class Uploads {
  all = $state<Upload[]>([]);
  /** Files of which somebody has yet to say who may see them. */
  offered = $state.raw<File[]>([]);
  /** Counts documents that have been added or read: lists follow it. */
  changes = $state(0);
  /** How many minutes reading still takes, null while nobody knows. */
  minutes = $state<number | null>(null);
  #pace = new Pace();
  #sending = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;

  get open(): number {
    return this.all.filter((upload) => upload.isOpen).length;
  }

  offer(files: File[]): void {
    if (files.length) this.offered = [...this.offered, ...files];
  }

  add(files: readonly File[], tags: readonly string[]): void {
    this.all.push(...files.map((file) => new Upload(file, tags)));
    this.#next();
  }

  /** Add a file for the same people as a document, which goes once the file has been read. */
  replace(document: Schemas['Document'], file: File): void {
    this.all.push(new Upload(file, document.aclTags, document.documentId));
    this.#next();
  }

  retry(upload: Upload): void {
    if (upload.jobId) return void this.#readAgain(upload);
    upload.abort = new AbortController();
    upload.key = crypto.randomUUID();
    upload.state = 'waiting';
    upload.reason = '';
    upload.share = 0;
    this.#next();
  }

  async cancel(upload: Upload): Promise<void> {
    const job_id = upload.jobId;
    upload.abort.abort();
    try {
      if (job_id) await result(api.POST('/v1/jobs/{job_id}/cancel', { params: { path: { job_id } } }));
    } catch (failure) {
      // It is still being read, and shown so.
      return toasts.show(messageOf(failure));
    }
    upload.state = 'cancelled';
    this.changes += 1;
    this.#next();
  }

  remove(upload: Upload): void {
    this.all = this.all.filter((other) => other !== upload);
  }

  clear(): void {
    this.all = this.all.filter((upload) => upload.isOpen);
  }

  #next(): void {
    while (this.#sending < AT_ONCE) {
      const upload = this.all.find(({ state }) => state === 'waiting');
      if (!upload) return;
      this.#sending += 1;
      upload.state = 'sending';
      void this.#send(upload).finally(() => {
        this.#sending -= 1;
        this.#next();
      });
    }
  }

  async #send(upload: Upload): Promise<void> {
    const { signal } = upload.abort;
    while (!signal.aborted) {
      try {
        upload.state = 'sending';
        const sent = await send(upload.file, upload.tags, upload.key, signal, (share) => (upload.share = share));
        upload.jobId = sent.jobId;
        upload.documentId = sent.documentId;
        upload.state = 'queued';
        upload.share = 0;
        this.changes += 1;
        return this.#watch();
      } catch (failure) {
        if (failure instanceof Busy) {
          upload.state = 'delayed';
          await new Promise((resolve) => setTimeout(resolve, failure.seconds * 1000));
        } else if (failure instanceof Refusal) {
          return upload.fail(failure.message, failure.code);
        } else return;
      }
    }
  }

  async #readAgain(upload: Upload): Promise<void> {
    try {
      await result(api.POST('/v1/jobs/{job_id}/retry', { params: { path: { job_id: upload.jobId } } }));
      upload.state = 'queued';
      upload.reason = '';
      this.#watch();
    } catch (failure) {
      upload.fail(messageOf(failure), '');
    }
  }

  /** Ask for all jobs at once, until none of ours is open. */
  #watch(): void {
    this.#timer ??= setTimeout(async () => {
      await this.#follow().catch(() => {});
      this.#timer = undefined;
      if (this.all.some(isRead)) this.#watch();
    }, POLL_MS);
  }

  async #follow(): Promise<void> {
    const waiting = this.all.filter(isRead);
    const oldest = waiting.length;
    const { jobs } = await result(api.GET('/v1/jobs', { params: { query: { limit: Math.min(1000, oldest + 100) } } }));
    const byId = new Map(jobs.map((job) => [job.jobId, job]));
    let [left, isKnown] = [0, true];
    for (const upload of waiting) {
      const job = byId.get(upload.jobId) ?? (await jobOf(upload));
      if (job) await this.#apply(upload, job);
      if (!job || !isRead(upload)) continue;
      if (job.totalChunks === null) isKnown = false;
      else left += job.totalChunks - job.processedChunks;
    }
    this.#pace.note(left, Date.now());
    this.minutes = isKnown && left ? this.#pace.minutes(Date.now()) : null;
  }

  async #apply(upload: Upload, job: Schemas['Job']): Promise<void> {
    if (!isRead(upload)) return;
    upload.share = job.progress / 100;
    if (job.jobState === 'queued') return;
    if (job.jobState === 'complete') await this.#publish(upload, 'done');
    else if (job.currentStep === 'vectors') await this.#publish(upload, 'following');
    else if (job.jobState === 'cancelled') upload.state = 'cancelled';
    else if (job.jobState === 'failed') upload.fail(job.errorMessage, job.errorCode);
    else upload.state = 'reading';
    if (!upload.isOpen) this.changes += 1;
  }

  /** It can be asked about; what it replaces goes once. */
  async #publish(upload: Upload, state: 'following' | 'done'): Promise<void> {
    const { replaces } = upload;
    if (upload.state !== 'following') this.changes += 1;
    upload.state = state;
    upload.replaces = '';
    if (replaces) await this.#deleteReplaced(replaces);
  }

  async #deleteReplaced(document: string): Promise<void> {
    try {
      await result(api.DELETE('/v1/documents/{document}', { params: { path: { document } } }));
    } catch (failure) {
      toasts.show(words.uploads.oldStays(messageOf(failure)));
    }
  }
}

function isRead(upload: Upload): boolean {
  return upload.state === 'queued' || upload.state === 'reading' || upload.state === 'following';
}

async function jobOf(upload: Upload): Promise<Schemas['Job'] | null> {
  const { data, response } = await api.GET('/v1/jobs/{job_id}', { params: { path: { job_id: upload.jobId } } });
  if (response.status === 404) upload.state = 'cancelled';
  return data ?? null;
}

export const uploads = new Uploads();
