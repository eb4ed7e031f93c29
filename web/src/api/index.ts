/** The server, with the types of its own OpenAPI document. */
import createClient, { type Middleware } from 'openapi-fetch';
import type { components, paths } from './schema';
import { session } from '../state/session.svelte';
import { words } from '../words';

export type Schemas = components['schemas'];

const SAFE = new Set(['GET', 'HEAD']);

const guard: Middleware = {
  onRequest({ request }) {
    const token = session.me?.csrfToken;
    if (token && !SAFE.has(request.method)) request.headers.set('X-CSRF-Token', token);
  },
  onResponse({ response }) {
    if (response.status === 401) session.end();
  },
};

export const api = createClient<paths>({ baseUrl: location.origin, credentials: 'same-origin' });
api.use(guard);

/** What went wrong, in the server's words: `message` says what happened and how to mend it. */
export class Problem extends Error {
  constructor(
    message: string,
    /** The HTTP status, 0 where the server could not be reached. */
    readonly status: number,
  ) {
    super(message);
  }
}

/** What to say of something that was thrown. */
export function messageOf(failure: unknown): string {
  return failure instanceof Error ? failure.message : String(failure);
}

/** Return what a request replied; throw `Problem`. */
export async function result<T>(request: Promise<{ data?: T; error?: unknown; response: Response }>): Promise<T> {
  const { data, error, response } = await request.catch((failure: unknown) => {
    if (failure instanceof DOMException && failure.name === 'AbortError') throw failure;
    throw new Problem(words.problem.unreachable, 0);
  });
  if (!response.ok) throw new Problem(detailOf(error) ?? words.problem.unknown(response.status), response.status);
  return data as T;
}

export function detailOf(error: unknown): string | null {
  return typeof error === 'object' && error && 'detail' in error && typeof error.detail === 'string'
    ? error.detail
    : null;
}
