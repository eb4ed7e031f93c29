/** One thing to decide, a proposed link or two names that may mean one thing, in the shape that the page shows. */
import type { Schemas } from '../../api';

type LinkReply = Schemas['Link'];
type Proposal = Schemas['Proposal'];

export interface Side {
  id: string;
  name: string;
  kind: string;
  /** The business system that it is of, "" for what documents say. */
  system: string;
  address: string;
  places: number;
}

/** What both sides say of one point; `verdict` is what it means for the answer yes. */
export interface Row {
  name: string;
  isEvidence: boolean;
  values: [string, string];
  verdict: 'for' | 'against' | 'neutral';
}

export interface Decision {
  key: string;
  /** The id of the link, null for a merge. */
  link: string | null;
  type: LinkReply['linkType'] | 'merge';
  sides: [Side, Side];
  sureness: 'certain' | 'likely' | 'possible';
  rows: Row[];
  neighbours: string[];
}

const CERTAIN = 0.98;
const LIKELY = 0.8;

export function ofLink(link: LinkReply): Decision {
  const evidence = link.evidence.map(({ name, points, sourceValue, targetValue }): Row => ({
    name,
    isEvidence: true,
    values: [sourceValue, targetValue],
    verdict: points > 0 ? 'for' : 'against',
  }));
  return {
    key: link.linkId,
    link: link.linkId,
    type: link.linkType,
    sides: [side(link.source), side(link.target)],
    sureness: surenessOf(link.confidence),
    rows: [...evidence, ...facts(link.attributes, evidence)],
    neighbours: [],
  };
}

export function ofProposal(proposal: Proposal): Decision | null {
  const [one, other] = proposal.entities;
  if (!one || !other) return null;
  const evidence = Object.entries(proposal.evidence).map(([name, value]): Row => ({
    name,
    isEvidence: true,
    values: name === 'name' || name === 'alias' ? [one.entityName, other.entityName] : [value, value],
    verdict: 'for',
  }));
  return {
    key: [one.entityId, other.entityId].sort().join(),
    link: null,
    type: 'merge',
    sides: [side(one), side(other)],
    sureness: surenessOf(proposal.confidence),
    rows: [...evidence, ...facts(proposal.attributes, evidence)],
    neighbours: proposal.sharedNeighbours,
  };
}

/** Which documents call a thing that no system knows begins so. */
const OF_DOCUMENTS = 'kg';

function side(end: Schemas['LinkEnd'] | Schemas['Entity']): Side {
  const system = end.entityRef.split(':')[0] ?? '';
  return {
    id: end.entityId,
    name: end.entityName,
    kind: end.entityType,
    system: system === OF_DOCUMENTS ? '' : system,
    address: end.primaryUrl,
    places: end.chunkCount,
  };
}

function surenessOf(confidence: number): Decision['sureness'] {
  return confidence >= CERTAIN ? 'certain' : confidence >= LIKELY ? 'likely' : 'possible';
}

/** Its page in its own system, which the head of the side leads to. */
const ADDRESS = 'url';

/** What documents state of both, beside the evidence; what only one side states helps, too. */
function facts([one = {}, other = {}]: Record<string, string>[], evidence: Row[]): Row[] {
  const isShown = (value: string) => evidence.some(({ values }) => values.includes(value));
  return [...new Set([...Object.keys(one), ...Object.keys(other)])]
    .filter((name) => name !== ADDRESS)
    .map((name): Row => {
      const values: [string, string] = [one[name] ?? '', other[name] ?? ''];
      const [first, second] = values.map((value) => value.toLowerCase());
      const verdict = !first || !second ? 'neutral' : first === second ? 'for' : 'against';
      return { name, isEvidence: false, values, verdict };
    })
    .filter(({ values }) => values.some(Boolean) && !values.every((value) => !value || isShown(value)));
}
