/** A document that is being read: the part of it that is loaded, which grows at both ends. */
import { api, result, type Schemas } from '../../api';
import type { Mark } from '../../state/pane.svelte';

export type View = Schemas['DocumentView'];
type Block = Schemas['Block'];

const MORE = 120;

export class Reading {
  readonly document: string;
  /** What the server said of the document with its first part. */
  about = $state.raw<View | null>(null);
  blocks = $state.raw<Block[]>([]);
  heads = $state.raw<Block[]>([]);
  before = $state.raw<number | null>(null);
  after = $state.raw<number | null>(null);
  error = $state.raw<unknown>(null);
  isLoading = $state(false);
  #request: AbortController | null = null;

  constructor(document: string) {
    this.document = document;
  }

  /** Whether this place is in what is loaded. */
  has(mark: Mark): boolean {
    const first = this.blocks[0];
    const last = this.blocks.at(-1);
    return !!first && !!last && first.start <= mark.start && mark.start < last.end;
  }

  /** Load the part around a mark, or the beginning; return where the quotation stands now. */
  async open(mark: Mark | null): Promise<View | null> {
    this.#request?.abort();
    const request = new AbortController();
    this.#request = request;
    this.isLoading = true;
    this.error = null;
    try {
      const query = mark ? { start: mark.start, end: mark.end, ...(mark.quote ? { quote: mark.quote } : {}) } : {};
      const view = await this.#fetch(query, request.signal);
      this.about = view;
      this.blocks = view.blocks;
      this.heads = view.heads;
      this.before = view.before;
      this.after = view.after;
      return view;
    } catch (failure) {
      if (!request.signal.aborted) this.error = failure;
      return null;
    } finally {
      if (this.#request === request) this.isLoading = false;
    }
  }

  /** Load what stands below. */
  async readOn(): Promise<void> {
    const place = this.after;
    if (place === null || this.isLoading) return;
    const view = await this.#part({ after: place, limit: MORE });
    if (!view) return;
    this.blocks = [...this.blocks, ...view.blocks];
    this.after = view.after;
  }

  /** Load what stands above. */
  async readBack(): Promise<void> {
    const place = this.before;
    if (place === null || this.isLoading) return;
    const view = await this.#part({ before: place, limit: MORE });
    if (!view) return;
    this.blocks = [...view.blocks, ...this.blocks];
    this.heads = view.heads;
    this.before = view.before;
  }

  close(): void {
    this.#request?.abort();
  }

  async #part(query: { after?: number; before?: number; limit: number }): Promise<View | null> {
    const request = new AbortController();
    this.#request = request;
    this.isLoading = true;
    try {
      return await this.#fetch(query, request.signal);
    } catch (failure) {
      if (!request.signal.aborted) this.error = failure;
      return null;
    } finally {
      if (this.#request === request) this.isLoading = false;
    }
  }

  #fetch(query: Query, signal: AbortSignal): Promise<View> {
    const path = { document: this.document };
    return result(api.GET('/v1/documents/{document}/view', { params: { path, query }, signal }));
  }
}

interface Query {
  start?: number;
  end?: number;
  quote?: string;
  after?: number;
  before?: number;
  limit?: number;
}
