/** The screens by the first part of the address. All but Ask are loaded when they are first shown. */
import type { Component } from 'svelte';
import type { IconName } from '../parts/Icon.svelte';
import type { Scope } from '../state/session.svelte';

type Load = () => Promise<{ default: Component }>;

// One function, so that a new conversation gets its address without being shown anew.
const ask: Load = () => import('./ask/Ask.svelte');

export const screens: Record<string, Load> = {
  '': ask,
  c: ask,
  documents: () => import('./documents/Documents.svelte'),
  d: () => import('./source/Document.svelte'),
  map: () => import('./map/Map.svelte'),
  brief: () => import('./brief/Brief.svelte'),
  review: () => import('./review/Review.svelte'),
  setup: () => import('./setup/Setup.svelte'),
  welcome: () => import('./welcome/Welcome.svelte'),
};

/** What the rail shows, with the scope that one needs; `g` and then `key` leads there, `screens` are those that belong to it. */
export const rail = [
  { href: '/', icon: 'ask', word: 'ask', key: 'a', screens: ['', 'c'] },
  { href: '/documents', icon: 'documents', word: 'documents', key: 'd', screens: ['documents', 'd'] },
  { href: '/map', icon: 'map', word: 'map', key: 'm', screens: ['map', 'brief'] },
  { href: '/review', icon: 'review', word: 'review', key: 'r', screens: ['review'], scope: 'curate' },
  { href: '/setup', icon: 'setup', word: 'setup', key: 's', screens: ['setup', 'welcome'], scope: 'admin' },
] as const satisfies readonly {
  href: string;
  icon: IconName;
  word: string;
  key: string;
  screens: readonly string[];
  scope?: Scope;
}[];
