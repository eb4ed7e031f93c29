/** What documents say of the two sides of a decision, sentence by sentence, each with its place. */
import { api, result } from '../../api';
import type { Place } from '../../state/pane.svelte';
import type { Decision } from './decision';

export interface Quotation {
  text: string;
  title: string;
  place: Place;
}

/** The quotations of each side, and those of the evidence itself, which neither side has alone. */
export interface Quoted {
  sides: [Quotation[], Quotation[]];
  evidence: Quotation[];
}

const MOST = 2;

export async function loadQuotations(decision: Decision): Promise<Quoted> {
  const [one, other] = decision.sides;
  const [first, second, evidence] = await Promise.all([
    ofEntity(one.id),
    ofEntity(other.id),
    decision.link ? ofLink(decision.link) : [],
  ]);
  const own = new Set([...first, ...second].map(keyOf));
  return {
    sides: [first, second],
    evidence: evidence.filter((quotation) => !own.has(keyOf(quotation))).slice(0, MOST),
  };
}

async function ofEntity(id: string): Promise<Quotation[]> {
  const { sources } = await result(api.GET('/v1/graph/entities/{name}', { params: { path: { name: id } } }));
  return sources
    .slice(-MOST)
    .reverse()
    .map(({ snippet, documentTitle, documentId, locator: { start, end } }) => ({
      text: snippet,
      title: documentTitle,
      place: { document: documentId, span: { start, end } },
    }));
}

async function ofLink(link: string): Promise<Quotation[]> {
  const { quotations } = await result(api.GET('/v1/links/{link_id}', { params: { path: { link_id: link } } }));
  return quotations.map(({ snippet, documentTitle, documentId, start, end }) => ({
    text: snippet,
    title: documentTitle,
    place: { document: documentId, span: { start, end } },
  }));
}

function keyOf({ place: { document, span } }: Quotation): string {
  return `${document} ${span?.start}`;
}
