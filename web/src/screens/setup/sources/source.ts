/** What a source is doing, in words, and when. */
import { api, result, type Schemas } from '../../../api';
import { language, words } from '../../../words';

export type Source = Schemas['SourceList']['sources'][number];
export type Details = Schemas['SourceDetails'];
export type Run = Schemas['SourceRun'];

export type State = 'reading' | 'paused' | 'trouble' | 'decision' | 'waiting' | 'good';

export function stateOf(source: Source, now: number): State {
  if (source.running) return 'reading';
  if (source.paused) return 'paused';
  if (source.error) return 'trouble';
  if (source.warning) return 'decision';
  return Date.parse(source.nextSyncAt) <= now ? 'waiting' : 'good';
}

/** Whether something will soon have changed of it. */
export function isMoving(source: Source, now: number): boolean {
  return ['reading', 'waiting'].includes(stateOf(source, now));
}

const relative = new Intl.RelativeTimeFormat(language, { numeric: 'auto' });
const units = [
  ['day', 86_400],
  ['hour', 3600],
  ['minute', 60],
] as const;

/** A time such as `in 8 minutes` or `3 hours ago`. */
export function whenOf(iso: string, now: number): string {
  const seconds = (Date.parse(iso) - now) / 1000;
  for (const [unit, size] of units) {
    // Fifty-nine and a half minutes are an hour.
    if (Math.abs(seconds) >= size - 30) return relative.format(Math.round(seconds / size), unit);
  }
  return words.sources.now;
}

/** What a run did, such as `3 new, 1 changed`. */
export function doneBy(run: Run): string {
  const { inserted, updated, deleted, unreadable } = run;
  const parts = Object.entries({ inserted, updated, deleted, unreadable })
    .filter(([, count]) => count > 0)
    .map(([name, count]) => words.sources.done[name as keyof typeof words.sources.done](count));
  return parts.join(', ') || words.sources.nothingNew;
}

export const INTERVALS = [300, 600, 1800, 3600, 21_600, 86_400] as const;

export function load(source: string, limit = 10): Promise<Details> {
  return result(api.GET('/v1/sources/{source}', { params: { path: { source }, query: { limit } } }));
}

/** The name of a variable of the environment, as the server makes it. */
export function variable(name: string, part: string): string {
  return `LIGHTWELL_SOURCE_${name.toUpperCase().replaceAll('-', '_')}_${part}`;
}
