/** The documents of a reader, page by page, as one scrolls; a change of one leaves all others where they are. */
import { api, result, type Schemas } from '../../api';

export type Document = Schemas['Document'];
export type Order = Schemas['DocumentOrder'];
export type Action = 'access' | 'who' | 'delete' | 'retry' | 'replace';
export type Shown = 'all' | 'ready' | 'busy' | 'failed';

export interface Query {
  title: string;
  system: string;
  shown: Shown;
  order: Order;
  isDescending: boolean;
}

export const PAGE = 100;
export const BUSY: Document['status'][] = ['pending', 'chunking', 'embedding', 'extracting'];
const STATES: Record<Shown, Document['status'][]> = { all: [], ready: ['active'], busy: BUSY, failed: ['failed'] };

export function isBusy(document: Document): boolean {
  return BUSY.includes(document.status) || isFollowed(document);
}

/** Whether it is found by its words already, and the rest of it is still being read. */
export function isFollowed(document: Document): boolean {
  return document.status === 'active' && document.waitingChunkCount > 0;
}

export class DocumentList {
  rows = $state.raw<Document[]>([]);
  next = $state<string | null>(null);
  summary = $state.raw<Schemas['DocumentSummary'] | null>(null);
  error = $state.raw<unknown>(null);
  isLoading = $state(true);
  #query: Query | null = null;
  #asked = 0;
  #isReadingOn = false;

  /** How many documents the filters leave; null where only reading them all would tell. */
  get count(): number | null {
    const query = this.#query;
    if (!this.summary || !query) return null;
    if (query.title) return this.next === null ? this.rows.length : null;
    return this.summary.kinds
      .filter((kind) => !query.system || kind.sourceSystem === query.system)
      .filter((kind) => query.shown === 'all' || STATES[query.shown].includes(kind.status))
      .reduce((sum, kind) => sum + kind.documents, 0);
  }

  countOf(shown: Shown): number {
    return (this.summary?.kinds ?? [])
      .filter((kind) => !this.#query?.system || kind.sourceSystem === this.#query.system)
      .filter((kind) => shown === 'all' || STATES[shown].includes(kind.status))
      .reduce((sum, kind) => sum + kind.documents, 0);
  }

  /** Begin anew. What is shown stays until what comes is there. */
  async load(query: Query): Promise<void> {
    this.#query = query;
    const asked = (this.#asked += 1);
    this.isLoading = true;
    this.error = null;
    try {
      const [page, summary] = await Promise.all([this.#page(''), result(api.GET('/v1/documents/summary'))]);
      if (asked !== this.#asked) return;
      this.rows = page.documents;
      this.next = page.nextAfter;
      this.summary = summary;
    } catch (failure) {
      if (asked === this.#asked) this.error = failure;
    } finally {
      if (asked === this.#asked) this.isLoading = false;
    }
  }

  async readOn(): Promise<void> {
    if (this.next === null || this.#isReadingOn || this.isLoading) return;
    this.#isReadingOn = true;
    const asked = this.#asked;
    try {
      const page = await this.#page(this.next);
      if (asked !== this.#asked) return;
      const known = new Set(this.rows.map((row) => row.documentId));
      this.rows = [...this.rows, ...page.documents.filter((row) => !known.has(row.documentId))];
      this.next = page.nextAfter;
    } catch (failure) {
      if (asked === this.#asked) this.error = failure;
    } finally {
      this.#isReadingOn = false;
    }
  }

  /** Read the first page anew, and what is behind it stays: new documents come, gone ones go. */
  async refresh(): Promise<void> {
    if (!this.#query || this.isLoading) return;
    const asked = this.#asked;
    const [page, summary] = await Promise.all([this.#page(''), result(api.GET('/v1/documents/summary'))]);
    if (asked !== this.#asked) return;
    const fresh = new Set(page.documents.map((row) => row.documentId));
    const last = this.rows.findIndex((row) => row.documentId === page.documents.at(-1)?.documentId);
    const isWhole = page.nextAfter === null || last < 0;
    const behind = isWhole ? [] : this.rows.slice(last + 1).filter((row) => !fresh.has(row.documentId));
    this.rows = [...page.documents, ...behind];
    if (!behind.length) this.next = page.nextAfter;
    this.summary = summary;
  }

  put(document: Document): void {
    this.rows = this.rows.map((row) => (row.documentId === document.documentId ? document : row));
  }

  drop(ids: ReadonlySet<string>): void {
    this.rows = this.rows.filter((row) => !ids.has(row.documentId));
  }

  async #page(after: string): Promise<Schemas['DocumentPage']> {
    const { title, system, shown, order, isDescending } = this.#query!;
    const query = { limit: PAGE, after, title, system, status: STATES[shown], order, descending: isDescending };
    return result(api.GET('/v1/documents', { params: { query } }));
  }
}
