/** What is to be decided, in one list. A decision is shown at once and sent behind it, one after the other, so 100 go quickly. */
import { SvelteMap } from 'svelte/reactivity';
import { api, messageOf, Problem, result } from '../../api';
import { toasts } from '../../state/toasts.svelte';
import { words } from '../../words';
import { ofLink, ofProposal, type Decision } from './decision';
import { loadQuotations, type Quoted } from './quotations';

const MOST = 200;
const AHEAD = 3;

export interface Filter {
  show: 'all' | 'links' | 'merges';
  kind: string;
}

interface Done {
  decision: Decision;
  isYes: boolean;
  /** The id of the merge that a yes made. */
  sent: Promise<string | null>;
}

export class Queue {
  all = $state.raw<Decision[]>([]);
  isMore = $state(false);
  place = $state(0);
  filter = $state<Filter>({ show: 'all', kind: '' });
  /** What was just done, for those who hear the page. */
  said = $state('');
  done = $state.raw<Done[]>([]);
  readonly quoted = new SvelteMap<string, Quoted>();
  #last: Promise<unknown> = Promise.resolve();
  #asked = new Set<string>();

  shown = $derived(
    this.all.filter(
      ({ link, sides }) =>
        (this.filter.show === 'all' || (link !== null) === (this.filter.show === 'links')) &&
        (!this.filter.kind || sides.some(({ kind }) => kind === this.filter.kind)),
    ),
  );
  kinds = $derived([...new Set(this.all.flatMap(({ sides }) => sides.map(({ kind }) => kind)))].sort());
  current = $derived(this.shown[Math.min(this.place, this.shown.length - 1)]);

  async load(): Promise<void> {
    const [links, merges] = await Promise.all([
      result(api.GET('/v1/links', { params: { query: { status: 'proposed', limit: MOST } } })),
      result(api.GET('/v1/graph/proposals', { params: { query: { limit: MOST } } })),
    ]);
    const proposals = merges.proposals.flatMap((proposal) => ofProposal(proposal) ?? []);
    this.all = [...links.links.map(ofLink), ...proposals];
    this.isMore = links.nextAfter !== null || merges.proposals.length === MOST;
  }

  /** Load the quotations of the decision in view and of those behind it. */
  preload(): void {
    for (const decision of this.shown.slice(this.place, this.place + AHEAD)) {
      if (this.#asked.has(decision.key)) continue;
      this.#asked.add(decision.key);
      loadQuotations(decision).then(
        (quoted) => this.quoted.set(decision.key, quoted),
        () => this.#asked.delete(decision.key),
      );
    }
  }

  /** Resolves when all decisions have reached the server. */
  async isSent(): Promise<void> {
    await this.#last;
  }

  move(step: number): void {
    this.place = Math.max(0, Math.min(this.shown.length - 1, this.place + step));
  }

  decide(isYes: boolean): void {
    const decision = this.current;
    if (!decision) return;
    const names = namesOf(decision);
    this.all = this.all.filter(({ key }) => key !== decision.key);
    this.place = Math.max(0, Math.min(this.place, this.shown.length - 1));
    this.said = isYes ? words.review.confirmed(...names) : words.review.rejected(...names);
    const sent = this.#behind(() => send(decision, isYes));
    const done: Done = { decision, isYes, sent };
    this.done = [...this.done, done];
    sent.catch((error: unknown) => {
      this.done = this.done.filter((other) => other !== done);
      if (error instanceof Problem && error.status === 404) return toasts.show(words.review.gone);
      this.#return(decision);
      toasts.show(messageOf(error));
    });
    // What was decided may have hidden other questions, and there may be more than were loaded.
    if (!this.all.length) this.#behind(() => this.load()).catch(() => {});
  }

  /** Take back the last decision of this visit; it is shown again. */
  undo(): void {
    const last = this.done.at(-1);
    if (!last) return toasts.show(words.review.nothingToUndo);
    this.done = this.done.slice(0, -1);
    this.#return(last.decision);
    this.said = words.review.undone(...namesOf(last.decision));
    this.#behind(async () => takeBack(last.decision, last.isYes, await last.sent)).catch((error: unknown) => {
      this.all = this.all.filter(({ key }) => key !== last.decision.key);
      toasts.show(messageOf(error));
    });
  }

  /** Put a decision where it is shown next. */
  #return(decision: Decision): void {
    const { show, kind } = this.filter;
    this.all = this.current
      ? this.all.flatMap((other) => (other === this.current ? [decision, other] : [other]))
      : [decision, ...this.all];
    if (!this.shown.includes(decision)) this.filter = { show: 'all', kind: '' };
    if (show !== this.filter.show || kind !== this.filter.kind) this.place = this.shown.indexOf(decision);
  }

  #behind<T>(work: () => Promise<T>): Promise<T> {
    const sent = this.#last.then(work, work);
    this.#last = sent.catch(() => {});
    return sent;
  }
}

function namesOf({ sides: [one, other] }: Decision): [string, string] {
  return [one.name, other.name];
}

async function send({ link, sides: [one, other] }: Decision, isYes: boolean): Promise<string | null> {
  if (link) {
    const params = { path: { link_id: link } };
    if (isYes) await result(api.POST('/v1/links/{link_id}/confirm', { params }));
    else await result(api.POST('/v1/links/{link_id}/reject', { params }));
    return null;
  }
  if (!isYes) {
    await result(api.POST('/v1/graph/proposals/reject', { body: { one: one.id, other: other.id } }));
    return null;
  }
  const body = { one: one.id, other: other.id, strategy: 'CONCATENATE' as const };
  return (await result(api.POST('/v1/graph/proposals/confirm', { body }))).mergeId;
}

async function takeBack(decision: Decision, isYes: boolean, merge: string | null): Promise<void> {
  const [one, other] = decision.sides;
  if (decision.link) await undoLink(decision.link);
  else if (isYes) await undoMerge(merge ?? other.id);
  else await undoRejection(one.id, other.id);
}

export async function undoLink(link: string): Promise<void> {
  await result(api.DELETE('/v1/links/{link_id}', { params: { path: { link_id: link } } }));
}

export async function undoMerge(merge: string): Promise<void> {
  await result(api.DELETE('/v1/graph/merges/{merge}', { params: { path: { merge } } }));
}

export async function undoRejection(one: string, other: string): Promise<void> {
  await result(api.POST('/v1/graph/proposals/reopen', { body: { one, other } }));
}
