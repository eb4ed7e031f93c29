/** Results that `lightwell eval --save` wrote, as one list of numbers; the file stays on this computer. */

export interface Results {
  dataset: string;
  questions: number;
  version: string;
  values: Map<string, number>;
}

/** Times of steps, and single answers, say more on the command line. */
const LEFT_OUT = new Set(['answers', 'settings', 'codeHash', 'corpusHash', 'questionsHash', 'version', 'dataset']);
const SEPARATOR = ' › ';

type Tree = Record<string, unknown>;

function isTree(value: unknown): value is Tree {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Return the results in this text, null where it has none. */
export function readResults(text: string): Results | null {
  let tree: unknown;
  try {
    tree = JSON.parse(text);
  } catch {
    return null;
  }
  if (!isTree(tree) || !isTree(tree['quality'])) return null;
  return {
    dataset: String(tree['dataset'] ?? ''),
    questions: Number(tree['questions'] ?? 0),
    version: String(tree['version'] ?? ''),
    values: new Map(leaves(tree, '')),
  };
}

function* leaves(tree: Tree, above: string): Generator<[string, number]> {
  for (const [name, value] of Object.entries(tree)) {
    if (!above && LEFT_OUT.has(name)) continue;
    if (isTree(value)) yield* leaves(value, `${above}${name}${SEPARATOR}`);
    else if (typeof value === 'number' && Number.isFinite(value)) yield [above + name, value];
  }
}
