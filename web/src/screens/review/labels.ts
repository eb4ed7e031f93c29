/** Words for what the server names: kinds, systems, evidence. */
import { words } from '../../words';

function capitalized(text: string): string {
  const [first = '', ...rest] = text;
  return first.toUpperCase() + rest.join('');
}

function lookUp(list: Record<string, string>, name: string): string | undefined {
  return Object.hasOwn(list, name) ? list[name] : undefined;
}

export function kindWord(kind: string): string {
  return lookUp(words.review.kinds, kind) ?? capitalized(kind);
}

export function systemWord(system: string): string {
  return system ? capitalized(system) : words.review.fromDocuments;
}

export function rowWord(name: string, isEvidence: boolean): string {
  return (
    lookUp(isEvidence ? words.review.evidence : words.review.facts, name) ?? capitalized(name.replaceAll('_', ' '))
  );
}
