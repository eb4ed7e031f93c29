/** Marks laid over what is shown of a document. Places count characters as people do, not as this language does. */
import type { Schemas } from '../../api';
import type { Mark } from '../../state/pane.svelte';

export type Run = Schemas['Run'];
export type Block = Schemas['Block'];

/** A part of a run that one mark covers, or none. */
export interface Piece {
  text: string;
  styles: Run['styles'];
  /** The place of the mark in the list, -1 for none. */
  mark: number;
}

/** Cut runs where marks begin and end. A run that stands for other characters, such as `&amp;`, is marked as a whole. */
export function cutRuns(runs: readonly Run[], marks: readonly Mark[]): Piece[] {
  return runs.flatMap((run) => cutRun(run, marks));
}

function cutRun(run: Run, marks: readonly Mark[]): Piece[] {
  const inside = marks.filter((mark) => mark.start < run.end && mark.end > run.start);
  if (!inside.length) return [{ text: run.text, styles: run.styles, mark: -1 }];
  const signs = Array.from(run.text);
  if (signs.length !== run.end - run.start) {
    return [{ text: run.text, styles: run.styles, mark: markAt(run.start, run.end, marks) }];
  }
  const edges = new Set([run.start, run.end]);
  for (const mark of inside) {
    edges.add(Math.max(mark.start, run.start));
    edges.add(Math.min(mark.end, run.end));
  }
  const cuts = [...edges].sort((one, other) => one - other);
  return cuts.slice(1).map((end, index) => {
    const start = cuts[index] ?? run.start;
    return {
      text: signs.slice(start - run.start, end - run.start).join(''),
      styles: run.styles,
      mark: markAt(start, end, marks),
    };
  });
}

function markAt(start: number, end: number, marks: readonly Mark[]): number {
  return marks.findIndex((mark) => mark.start < end && mark.end > start);
}

/** Whether a block stands where a mark does. */
export function isMarked(block: Block, marks: readonly Mark[]): boolean {
  return marks.some((mark) => mark.start < block.end && mark.end > block.start);
}

/** What is drawn together: the rows of one table, the items of one list, or one block. */
export interface Group {
  key: number;
  kind: 'table' | 'list' | 'fields' | 'block';
  blocks: Block[];
}

/** Group the blocks; a table that begins above has its header from `heads`. */
export function groupBlocks(blocks: readonly Block[], heads: readonly Block[]): Group[] {
  const groups: Group[] = [];
  for (const block of blocks) {
    const last = groups.at(-1);
    const kind = kindOf(block);
    const before = last?.blocks.at(-1);
    const goesOn = last && kind !== 'block' && last.kind === kind && before?.table === block.table;
    if (goesOn) last.blocks.push(block);
    else groups.push({ key: block.start, kind, blocks: [...headOf(block, heads), block] });
  }
  return groups;
}

function kindOf(block: Block): Group['kind'] {
  if (block.kind === 'row') return 'table';
  if (block.kind === 'item') return 'list';
  return block.kind === 'field' ? 'fields' : 'block';
}

function headOf(block: Block, heads: readonly Block[]): Block[] {
  if (block.kind !== 'row' || block.isHeader) return [];
  return heads.filter((head) => head.table === block.table && head.start !== block.start);
}
