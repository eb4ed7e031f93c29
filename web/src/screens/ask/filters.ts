/** What a question is restricted to; the keys are those of the request. */
import { capitalized, dayOf, kindName, systemName, words } from '../../words';

export interface Filters {
  system?: string;
  type?: string;
  since?: string;
  until?: string;
}

export type FilterName = keyof Filters;

/** The filters that hold, each in words. */
export function namesOf(filters: Filters): { name: FilterName; text: string }[] {
  const { system, type, since, until } = filters;
  const named: { name: FilterName; text: string | undefined }[] = [
    { name: 'system', text: system && systemName(system) },
    { name: 'type', text: type && capitalized(kindName(type)) },
    { name: 'since', text: since && words.asking.since(dayOf(since)) },
    { name: 'until', text: until && words.asking.until(dayOf(until)) },
  ];
  return named.flatMap(({ name, text }) => (text ? [{ name, text }] : []));
}

/** The filters without one; with a value, with another one. */
export function changed(filters: Filters, name: FilterName, value = ''): Filters {
  const { [name]: _, ...others } = filters;
  return value ? { ...others, [name]: value } : others;
}
