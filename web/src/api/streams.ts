/** Events of an answer (SSE over a POST), read on after a lost connection. */
import { detailOf, Problem } from '.';
import { session } from '../state/session.svelte';
import { words } from '../words';

interface ServerEvent {
  id: string;
  kind: string;
  data: unknown;
}

const RETRIES = 5;

/**
 * Yield the events of a stream in order, each once. A connection that breaks is taken up where it ended; throws `Problem` when
 * the server refuses, or stays away after five tries. Ends without an error when `signal` is aborted.
 */
export async function* events(path: string, body: object, signal: AbortSignal): AsyncGenerator<ServerEvent> {
  let last = '';
  for (let failures = 0; !signal.aborted;) {
    let isDone = false;
    try {
      for await (const event of connection(path, body, last, signal)) {
        last = event.id || last;
        failures = 0;
        isDone = event.kind === 'done' || event.kind === 'error';
        yield event;
      }
      if (isDone) return;
      failures += 1;
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof Problem && error.status) throw error;
      failures += 1;
    }
    // Without an event there is nothing to read on from, and asking again would pay twice.
    if (!last || failures > RETRIES) throw new Problem(words.problem.unreachable, 0);
    await new Promise((resolve) => setTimeout(resolve, 300 * failures));
  }
}

async function* connection(path: string, body: object, last: string, signal: AbortSignal): AsyncGenerator<ServerEvent> {
  const response = await fetch(path, {
    method: 'POST',
    headers: {
      'Content-Type': 'application/json',
      'X-CSRF-Token': session.me?.csrfToken ?? '',
      ...(last ? { 'Last-Event-ID': last } : {}),
    },
    body: JSON.stringify(body),
    signal,
  });
  if (response.status === 401) session.end();
  if (!response.ok || !response.body) {
    const problem: unknown = await response.json().catch(() => null);
    throw new Problem(detailOf(problem) ?? words.problem.unknown(response.status), response.status);
  }
  yield* parse(response.body.pipeThrough(new TextDecoderStream()));
}

async function* parse(chunks: ReadableStream<string>): AsyncGenerator<ServerEvent> {
  let rest = '';
  const reader = chunks.getReader();
  try {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      const parts = (rest + value).split(/\r?\n\r?\n/);
      rest = parts.pop() ?? '';
      for (const part of parts) {
        const event = parseEvent(part);
        if (event) yield event;
      }
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}

function parseEvent(text: string): ServerEvent | null {
  const fields = new Map<string, string[]>();
  for (const line of text.split(/\r?\n/)) {
    const [, name, value] = /^(\w+): ?(.*)$/.exec(line) ?? [];
    if (name) fields.set(name, [...(fields.get(name) ?? []), value ?? '']);
  }
  const data = fields.get('data')?.join('\n');
  return data === undefined
    ? null
    : { id: fields.get('id')?.[0] ?? '', kind: fields.get('event')?.[0] ?? 'message', data: JSON.parse(data) };
}
