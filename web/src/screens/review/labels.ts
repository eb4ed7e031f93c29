/** Words for what the server names: kinds, systems, evidence. */
import { capitalized, kindName, systemName, wordOf, words } from '../../words';

export function kindWord(kind: string): string {
  return capitalized(kindName(kind));
}

export function systemWord(system: string): string {
  return system ? systemName(system) : words.review.fromDocuments;
}

export function rowWord(name: string, isEvidence: boolean): string {
  return (
    wordOf(isEvidence ? words.review.evidence : words.review.facts, name) ?? capitalized(name.replaceAll('_', ' '))
  );
}
