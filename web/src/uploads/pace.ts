/** How long the passages that are left take, by those of the last two minutes; unknown before a few were counted. */

const WINDOW_MS = 120_000;
const FEW = 3;

export class Pace {
  #counts: { at: number; left: number }[] = [];

  /** Note how many passages are left; those of files that came meanwhile begin the measuring anew. */
  note(left: number, at: number): void {
    const last = this.#counts.at(-1);
    if (last && left > last.left) this.#counts = [];
    if (last?.left !== left || !this.#counts.length) this.#counts.push({ at, left });
    while (this.#counts.length > FEW && at - (this.#counts[1]?.at ?? at) > WINDOW_MS) this.#counts.shift();
  }

  /** Return the minutes that are left, whole ones; null while they are unknown, or nothing has moved for two minutes. */
  minutes(at: number): number | null {
    const first = this.#counts[0];
    const last = this.#counts.at(-1);
    if (!first || !last || this.#counts.length <= FEW || at - last.at > WINDOW_MS) return null;
    return Math.floor((last.left * (at - first.at)) / (first.left - last.left) / 60_000);
  }
}
