/** The parts of Set up, each loaded when it is first shown. A part is a component that begins with `Page`; its title is in `words.setup.parts`. */
import type { Component } from 'svelte';
import type { Words } from '../../words/en';

export interface Part {
  /** What stands behind `/setup/`. */
  name: keyof Words['setup']['parts'];
  load: () => Promise<{ default: Component }>;
}

/** In the order of the list at the left; each group has its heading in `words.setup.groups`. */
export const groups: readonly { name: keyof Words['setup']['groups']; parts: readonly Part[] }[] = [
  {
    name: 'people',
    parts: [
      { name: 'people', load: () => import('./people/People.svelte') },
      { name: 'groups', load: () => import('./groups/Groups.svelte') },
      { name: 'keys', load: () => import('./keys/Keys.svelte') },
    ],
  },
  { name: 'documents', parts: [{ name: 'sources', load: () => import('./sources/Sources.svelte') }] },
  {
    name: 'answers',
    parts: [
      { name: 'models', load: () => import('./models/Models.svelte') },
      { name: 'answer-as', load: () => import('./answer-as/AnswerAs.svelte') },
      { name: 'evaluation', load: () => import('./evaluation/Evaluation.svelte') },
    ],
  },
  {
    name: 'server',
    parts: [
      { name: 'usage', load: () => import('./usage/Usage.svelte') },
      { name: 'health', load: () => import('./health/Health.svelte') },
      { name: 'audit', load: () => import('./audit/Audit.svelte') },
    ],
  },
];
