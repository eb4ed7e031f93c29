/** Why a file could not be added, and what to do: from the server's code and words. */
import { words } from '../words';

export type Reason = keyof typeof words.uploads.reasons;

// The server names one code for all files that cannot be read; its sentence says why.
const SAID: [RegExp, Reason][] = [
  [/password/i, 'encrypted'],
  [/scan|no text\b/i, 'scan'],
  [/empty|contains no text/i, 'empty'],
  [/at most [\d.,]+ bytes|too large|split it/i, 'large'],
  [/files are not read|old Office file|archive or an office file|although the name says/i, 'kind'],
];
const CODES: Record<string, Reason> = {
  too_large: 'large',
  over_limit: 'large',
  unreachable: 'unreachable',
  invalid_request: 'access',
  missing_scope: 'access',
  model_failed: 'model',
  model_busy: 'model',
  model_refused: 'model',
  unreadable_document: 'damaged',
};

// What does not depend on the file may go better the next time.
const PASSING = new Set<Reason>(['unreachable', 'model', 'unknown']);

export function reasonOf(code: string, message: string): Reason {
  return SAID.find(([pattern]) => pattern.test(message))?.[1] ?? CODES[code] ?? 'unknown';
}

/** Return advice in the reader's language. */
export function adviceOf(reason: Reason): string {
  return words.uploads.reasons[reason];
}

export function isPassing(reason: Reason): boolean {
  return PASSING.has(reason);
}
