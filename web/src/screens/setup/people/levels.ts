/** What somebody may do, in four steps that people understand; the server knows scopes. */
import type { Scope } from '../../../state/session.svelte';

export const levels = ['read', 'add', 'correct', 'administer'] as const;
export type Level = (typeof levels)[number];

export const scopesOf: Record<Level, Scope[]> = {
  read: ['read'],
  add: ['ingest', 'read'],
  correct: ['curate', 'delete', 'export', 'ingest', 'read'],
  administer: ['admin'],
};

/** The step that these scopes are; undefined where they were chosen one by one. */
export function levelOf(scopes: Scope[]): Level | undefined {
  if (scopes.includes('admin')) return 'administer';
  const sorted = scopes.toSorted().join();
  return levels.find((level) => scopesOf[level].join() === sorted);
}
