/** What documents are called on the page: their title, where they are from, and who sees them. */
import type { Schemas } from '../../api';
import { decoded } from '../../state/router.svelte';
import { session } from '../../state/session.svelte';
import { words } from '../../words';
import type { Document } from './list.svelte';

export function titleOf(document: Document): string {
  return document.title.trim() || lastOf(document.documentUrl) || words.documents.untitled;
}

/** Return the folders, or the host, where a document is; "" where its address says nothing to people. */
export function placeOf({ documentUrl }: Document): string {
  if (!URL.canParse(documentUrl)) return '';
  const { protocol, host, pathname } = new URL(documentUrl);
  const folders = pathname.split('/').slice(1, -1).map(decoded).filter(Boolean);
  if (protocol === 'file:') return folders.slice(-2).join(' › ');
  return protocol === 'https:' || protocol === 'http:' ? host : '';
}

export function nameOfTag(tag: string, places: Schemas['Place'][] = session.me?.places ?? []): string {
  const place = places.find((other) => other.tag === tag);
  if (place?.isOwn) return words.documents.me;
  if (place && place.name !== tag) return place.name;
  // A tag without a group: `team:people` is read as `People`.
  const rest = tag.slice(tag.indexOf(':') + 1);
  return rest.charAt(0).toLocaleUpperCase() + rest.slice(1);
}

/** Return who sees a document in few words: groups and people that the reader knows come first. */
export function audienceOf({ aclTags }: Document): string {
  const places = session.me?.places ?? [];
  if (aclTags.every((tag) => places.some((place) => place.isOwn && place.tag === tag))) return words.documents.onlyMe;
  const known = new Set(places.map((place) => place.tag));
  const sorted = [...aclTags].sort((one, other) => Number(known.has(other)) - Number(known.has(one)));
  const names = [...new Set(sorted.map((tag) => nameOfTag(tag, places)))];
  return names.length > 3 ? words.documents.more(names.slice(0, 2).join(', '), names.length - 2) : names.join(', ');
}

/** Whether this person may delete a document, and change who sees it. The server decides; this says what is offered. */
export function mayChange({ aclTags }: Document, scope: 'delete' | 'curate'): boolean {
  const me = session.me;
  if (!me) return false;
  if (session.may('admin')) return true;
  const own = me.places.filter((place) => place.isOwn).map((place) => place.tag);
  const isAlone = aclTags.every((tag) => own.includes(tag));
  if (isAlone && session.may('ingest')) return true;
  if (!session.may(scope)) return false;
  return scope === 'curate' || aclTags.every((tag) => me.tags.includes(tag));
}

function lastOf(url: string): string {
  return decoded(url.split(/[?#]/)[0]?.split('/').at(-1) ?? '');
}
