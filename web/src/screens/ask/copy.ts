/** An answer with its sources for the clipboard: as plain text, and as HTML with links. */
import { copy } from '../../parts/clipboard';
import { toasts } from '../../state/toasts.svelte';
import { words } from '../../words';
import type { Citation, Exchange } from './exchange.svelte';
import { addressOf, numberOf, placeOf } from './sources';

export async function copyAnswer(exchange: Exchange): Promise<void> {
  const used = new Set(exchange.sentences.flatMap((sentence) => sentence.citations));
  const cited = exchange.citations.filter((citation) => used.has(citation.id));
  await copy(plainOf(exchange, cited), htmlOf(exchange, cited));
  toasts.show(words.asking.copied);
}

/** The link with which a colleague asks the same; the answer is made with the colleague's own access. */
export async function copyLink(question: string): Promise<void> {
  await copy(`${location.origin}/?q=${encodeURIComponent(question)}`);
  toasts.show(words.asking.linkCopied);
}

function plainOf(exchange: Exchange, cited: readonly Citation[]): string {
  const sentences = exchange.sentences.length
    ? exchange.sentences.map((sentence) => `${sentence.text} ${sentence.citations.join('')}`)
    : [exchange.text];
  const sources = cited.map((citation) => `${citation.id} ${nameOf(citation)}: ${addressOf(citation)}`);
  const answer = [doubtOf(exchange), ...sentences].filter(Boolean).join('\n');
  return [exchange.question, answer, sources.join('\n')].filter(Boolean).join('\n\n');
}

/** What stands above an answer that may be none. */
function doubtOf(exchange: Exchange): string {
  return exchange.state === 'possibly' ? `${words.asking.possibly}:` : '';
}

function nameOf(citation: Citation): string {
  return [citation.documentTitle, placeOf(citation)].filter(Boolean).join(', ');
}

// Made of elements, so that what a document says is text in it, too.
function htmlOf(exchange: Exchange, cited: readonly Citation[]): string {
  const whole = document.createElement('div');
  const question = document.createElement('p');
  question.append(Object.assign(document.createElement('strong'), { textContent: exchange.question }));
  const answer = document.createElement('p');
  if (doubtOf(exchange)) answer.append(`${doubtOf(exchange)} `);
  for (const sentence of exchange.sentences) {
    answer.append(`${sentence.text} `);
    for (const id of sentence.citations) {
      const citation = cited.find((other) => other.id === id);
      if (citation) answer.append(linkTo(citation, id));
    }
    answer.append(' ');
  }
  if (!exchange.sentences.length) answer.textContent = exchange.text;
  const list = document.createElement('ol');
  for (const citation of cited) {
    const entry = Object.assign(document.createElement('li'), { value: Number(numberOf(citation.id)) });
    entry.append(linkTo(citation, nameOf(citation)));
    list.append(entry);
  }
  whole.append(question, answer, list);
  return whole.outerHTML;
}

function linkTo(citation: Citation, text: string): HTMLAnchorElement {
  return Object.assign(document.createElement('a'), { href: addressOf(citation), textContent: text });
}
