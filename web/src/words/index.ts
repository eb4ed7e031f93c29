/** The words of the page in the reader's language. */
import { en, type Words } from './en';

export const languages = { en: 'English', de: 'Deutsch' } as const;
export type Language = keyof typeof languages;

const KEY = 'lightwell.language';

function isLanguage(code: string | null | undefined): code is Language {
  return code === 'en' || code === 'de';
}

function chosen(): Language {
  const stored = localStorage.getItem(KEY);
  if (isLanguage(stored)) return stored;
  return navigator.languages.map((code) => code.slice(0, 2)).find(isLanguage) ?? 'en';
}

/** Choose a language for this browser; the page begins anew with it. */
export function chooseLanguage(code: Language): void {
  localStorage.setItem(KEY, code);
  location.reload();
}

export const language: Language = chosen();
export const words: Words = language === 'de' ? (await import('./de')).de : en;

/** The reader's own form of the language, where the browser says it: days are written otherwise in `en-GB` and `en-US`. */
const form = navigator.languages.find((code) => code.startsWith(language)) ?? language;
const day = new Intl.DateTimeFormat(form, { dateStyle: 'medium' });
const time = new Intl.DateTimeFormat(form, { timeStyle: 'short' });
const moment = new Intl.DateTimeFormat(form, { dateStyle: 'medium', timeStyle: 'short' });

/** A day such as `2 Mar 2026`, of an ISO date. */
export function dayOf(iso: string): string {
  return day.format(new Date(iso));
}

/** The time of what was today, else its day. */
export function dayOrTimeOf(iso: string): string {
  const date = new Date(iso);
  return date.toDateString() === new Date().toDateString() ? time.format(date) : day.format(date);
}

/** A day with its time. */
export function momentOf(iso: string): string {
  return moment.format(new Date(iso));
}

/** A number such as `50,000`. */
export function numberOf(value: number): string {
  return value.toLocaleString(language);
}

/** What a list has for a name that the server sent; it may be any, such as `constructor`. */
export function wordOf(list: Record<string, string>, name: string): string | undefined {
  return Object.hasOwn(list, name) ? list[name] : undefined;
}

/** What a system is called; a plug-in's has its own name. */
export function systemName(system: string): string {
  return wordOf(words.systems, system) ?? capitalized(system);
}

/** What a kind of names or documents is called within a sentence. */
export function kindName(kind: string): string {
  return wordOf(words.kinds, kind) ?? kind.replaceAll('_', ' ');
}

export function capitalized(text: string): string {
  const [first = '', ...rest] = text;
  return first.toUpperCase() + rest.join('');
}
