/** One file on its way to the server, with progress. */
import { Problem } from '../api';
import { session } from '../state/session.svelte';
import { words } from '../words';

export interface Sent {
  documentId: string;
  jobId: string;
}

/** The server refuses for now: it says in how many seconds it may take the file. */
export class Busy extends Error {
  constructor(readonly seconds: number) {
    super();
  }
}

/** What the server says of a file that it does not take: `code` is for programs, the message for people. */
export class Refusal extends Problem {
  constructor(
    message: string,
    status: number,
    readonly code: string,
  ) {
    super(message, status);
  }
}

const BUSY = new Set([429, 503]);

/** Send a file for readers with these tags; throws `Busy`, `Refusal`, and `AbortError` when `signal` is aborted. */
export function send(
  file: File,
  tags: readonly string[],
  key: string,
  signal: AbortSignal,
  onprogress: (share: number) => void,
): Promise<Sent> {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open('POST', '/v1/documents');
    request.setRequestHeader('X-CSRF-Token', session.me?.csrfToken ?? '');
    request.setRequestHeader('Idempotency-Key', key);
    request.upload.onprogress = ({ loaded, total }) => onprogress(total ? loaded / total : 0);
    request.onerror = () => reject(new Refusal(words.problem.unreachable, 0, 'unreachable'));
    request.onabort = () => reject(new DOMException('', 'AbortError'));
    request.onload = () => {
      if (request.status === 401) session.end();
      if (BUSY.has(request.status)) return reject(new Busy(Number(request.getResponseHeader('Retry-After')) || 5));
      const [first] = readReply(request.responseText).documents ?? [];
      if (request.status === 202 && first) return resolve(first);
      const { detail, code } = readReply(request.responseText);
      reject(new Refusal(detail ?? words.problem.unknown(request.status), request.status, code ?? ''));
    };
    signal.addEventListener('abort', () => request.abort());
    const form = new FormData();
    for (const tag of tags) form.append('aclTags', tag);
    form.append('files', file, file.name);
    request.send(form);
  });
}

interface Reply {
  documents?: Sent[];
  detail?: string;
  code?: string;
}

function readReply(text: string): Reply {
  try {
    return JSON.parse(text) as Reply;
  } catch {
    return {};
  }
}
