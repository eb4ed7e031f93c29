/** What a question is restricted to; the keys are those of the request. */
import type { Schemas } from '../../api';
import { capitalized, dayOf, kindName, systemName, words } from '../../words';

export interface Filters {
  system?: string;
  type?: string;
  author?: string;
  since?: string;
  until?: string;
}

export type FilterName = keyof Filters;

/** What one question is asked with: of a filter several values may hold, and words of the question may be no filter. */
export type Restriction = { [Name in FilterName]?: string | string[] } & { fromWords?: boolean };

export type Understood = Schemas['UnderstoodFilter'];

const NAMES: Record<FilterName, (value: string) => string> = {
  system: systemName,
  type: (type) => capitalized(kindName(type)),
  author: (name) => words.asking.by(name),
  since: (day) => words.asking.since(dayOf(day)),
  until: (day) => words.asking.until(dayOf(day)),
};

function isName(name: string): name is FilterName {
  return name in NAMES;
}

/** The filters that hold, each in words. */
export function namesOf(filters: Restriction): { name: FilterName; text: string }[] {
  return Object.entries(filters).flatMap(([name, value]) =>
    isName(name) && value && typeof value !== 'boolean'
      ? [{ name, text: [value].flat().map(NAMES[name]).join(', ') }]
      : [],
  );
}

/** The filters without one; with a value, with another one. */
export function changed(filters: Filters, name: FilterName, value = ''): Filters {
  const { [name]: _, ...others } = filters;
  return value ? { ...others, [name]: value } : others;
}

/** What words of a question were understood as, one entry for the same words: "last month" has a beginning and an end. */
export function byWords(understood: Understood[]): { words: string; text: string }[] {
  const all = [...new Set(understood.map((filter) => filter.words))];
  return all.map((said) => {
    const texts = understood
      .filter((filter) => filter.words === said)
      .map(({ field, value }) => (isName(field) ? NAMES[field](value) : value));
    return { words: said, text: texts.join(' · ') };
  });
}

/** The restriction with all that was understood but for these words, which are no filter any more. */
export function withoutWords(filters: Restriction, understood: Understood[], left: string): Restriction {
  const kept: Restriction = { ...filters, fromWords: false };
  for (const { field, value, words: said } of understood) {
    if (said === left || !isName(field)) continue;
    kept[field] = field === 'since' || field === 'until' ? value : [kept[field] ?? [], value].flat();
  }
  return kept;
}
