/**
 * Where the names stand: ForceAtlas2 away from the page's own thread, in slices, so that a name can be moved and a new map can
 * come in between. A file of this server, since the page runs no script that it makes itself.
 */
import iterate from 'graphology-layout-forceatlas2/iterate';

export interface LayoutRequest {
  run: number;
  /** x, y, size, and 1 for what stays where it is: four numbers a name. */
  names: Float32Array;
  /** The places of two names in the list, and a weight. */
  ties: Float32Array;
  rounds: number;
}

export interface LayoutReply {
  run: number;
  /** x and y of each name. */
  places: Float32Array;
  isDone: boolean;
}

const PER_NAME = 10;
const PER_TIE = 3;
const [MASS, CONVERGENCE, SIZE, FIXED] = [6, 7, 8, 9];
const SLICE_MS = 60;

let latest = 0;

addEventListener('message', (event: MessageEvent<LayoutRequest>) => {
  latest = event.data.run;
  work(event.data);
});

function work({ run, names, ties, rounds }: LayoutRequest): void {
  const count = names.length / 4;
  const nodes = new Float32Array(count * PER_NAME);
  for (let i = 0; i < count; i += 1) {
    const [x = 0, y = 0, size = 1, fixed = 0] = names.subarray(i * 4, i * 4 + 4);
    const place = i * PER_NAME;
    nodes[place] = x;
    nodes[place + 1] = y;
    nodes[place + MASS] = 1;
    nodes[place + CONVERGENCE] = 1;
    nodes[place + SIZE] = size;
    nodes[place + FIXED] = fixed;
  }
  const edges = ties.slice();
  for (let i = 0; i < edges.length; i += PER_TIE) {
    for (const end of [i, i + 1]) {
      const place = (edges[end] ?? 0) * PER_NAME;
      edges[end] = place;
      nodes[place + MASS] = (nodes[place + MASS] ?? 1) + (edges[i + 2] ?? 1);
    }
  }
  const settings = {
    linLogMode: false,
    outboundAttractionDistribution: false,
    adjustSizes: false,
    edgeWeightInfluence: 1,
    scalingRatio: 12,
    strongGravityMode: true,
    gravity: 0.08,
    slowDown: 1 + Math.log(count),
    barnesHutOptimize: count > 200,
    barnesHutTheta: count > 600 ? 1.2 : 0.6,
  };
  let left = rounds;
  const slice = (): void => {
    if (run !== latest) return;
    const end = performance.now() + SLICE_MS;
    while (left > 0 && performance.now() < end) {
      iterate(settings, nodes, edges);
      left -= 1;
    }
    const places = new Float32Array(count * 2);
    for (let i = 0; i < count; i += 1) {
      places[i * 2] = nodes[i * PER_NAME] ?? 0;
      places[i * 2 + 1] = nodes[i * PER_NAME + 1] ?? 0;
    }
    const reply: LayoutReply = { run, places, isDone: left <= 0 };
    postMessage(reply, { transfer: [places.buffer] });
    if (left > 0) setTimeout(slice);
  };
  slice();
}
