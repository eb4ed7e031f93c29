/** What kinds of names look like: a colour and a shape for each group, the same on the map, in its legend and in lists. */

import { kindName, systemName } from '../../words';

export const groups = ['person', 'company', 'project', 'place', 'work', 'document', 'other'] as const;
export type Group = (typeof groups)[number];
type Shape = 'circle' | 'square' | 'diamond' | 'triangle';

export const shapes: Record<Group, Shape> = {
  person: 'circle',
  company: 'square',
  project: 'diamond',
  place: 'triangle',
  work: 'square',
  document: 'diamond',
  other: 'circle',
};

const GROUP_OF: Record<string, Group> = {
  person: 'person',
  contact: 'person',
  user: 'person',
  organization: 'company',
  company: 'company',
  customer: 'company',
  team: 'company',
  project: 'project',
  deal: 'project',
  initiative: 'project',
  milestone: 'project',
  product: 'project',
  place: 'place',
  location: 'place',
  site: 'place',
  city: 'place',
  country: 'place',
  issue: 'work',
  task: 'work',
  conversation: 'work',
  request: 'work',
  meeting: 'work',
  identifier: 'work',
  document: 'document',
  article: 'document',
  page: 'document',
  work: 'document',
  note: 'document',
  domain: 'document',
  address: 'document',
};

export function groupOf(kind: string): Group {
  return GROUP_OF[kind.toLowerCase()] ?? 'other';
}

/** What tells a name from its namesakes in other systems: `company · Attio`. */
export function describe({ entityType, entityRef }: { entityType: string; entityRef: string }): string {
  const system = entityRef.split(':')[0] ?? '';
  const kind = kindName(entityType);
  return system === 'kg' ? kind : `${kind} · ${systemName(system)}`;
}
