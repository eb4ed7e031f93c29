/** Names on a canvas, where no markup isolates them: without signs that turn or break what is around, and not endless. */

const LONGEST = 36;
// Controls, and marks that change the direction of what follows.
const UNSEEN = /[\p{Cc}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]+/gu;

export function labelOf(name: string): string {
  const plain = name.replace(UNSEEN, ' ').trim();
  return plain.length > LONGEST ? `${plain.slice(0, LONGEST - 1)}…` : plain;
}
