/** The map as a picture that one can move in. A chunk of its own: it is loaded when a map is first drawn. */
import { MultiDirectedGraph } from 'graphology';
import Sigma from 'sigma';
import { sdfCircle, sdfDiamond, sdfSquare, sdfTriangle } from 'sigma/rendering';
import type { Schemas } from '../../api';
import { groupOf, shapes, type Group } from './kinds';
import type { LayoutReply, LayoutRequest } from './layout.worker';
import { labelOf } from './labels';

type Name = Schemas['MappedName'];
type Tie = Schemas['Tie'];

export interface Colours {
  paper: string;
  raised: string;
  ink: string;
  line: string;
  press: string;
  groups: Record<Group, string>;
}

export interface Shown {
  names: Name[];
  ties: Tie[];
  hidden: ReadonlySet<Group>;
  selected: string;
  /** The names of a way, in order; their ties are drawn stronger. */
  way: string[];
}

interface Reactions {
  onselect: (id: string) => void;
  onexpand: (id: string) => void;
  onclear: () => void;
  onsettled: () => void;
}

interface NodeLook {
  x: number;
  y: number;
  size: number;
  label: string;
  group: Group;
  color: string;
  shape: string;
  opacity: number;
  isMarked: boolean;
  isKept: boolean;
  isHidden: boolean;
  [key: string]: unknown;
}

interface EdgeLook {
  size: number;
  color: string;
  opacity: number;
  weight: number;
  isLink: boolean;
  isHidden: boolean;
  [key: string]: unknown;
}

const [SMALLEST, LARGEST] = [4, 17];
const FONT = 'system-ui, sans-serif';
const STEP = 24;
/** From so many ties on they are drawn when nothing moves: without a graphics processor they cost most of a frame. */
const MANY_TIES = 1500;

export function canDraw(): boolean {
  return document.createElement('canvas').getContext('webgl2') !== null;
}

export class Drawing {
  readonly #graph = new MultiDirectedGraph<NodeLook, EdgeLook>();
  readonly #sigma: Sigma<NodeLook, EdgeLook>;
  readonly #worker = new Worker(new URL('./layout.worker.ts', import.meta.url), { type: 'module' });
  readonly #isCalm = matchMedia('(prefers-reduced-motion: reduce)').matches;
  // The source pane and the panel take room from the map, and give it back.
  readonly #sizes = new ResizeObserver(() => this.#sigma.resize().scheduleRender());
  #colours: Colours;
  #shown: Shown | null = null;
  #run = 0;
  #isSettling = false;
  #order: string[] = [];

  constructor(container: HTMLElement, colours: Colours, reactions: Reactions) {
    this.#colours = colours;
    this.#sigma = new Sigma(this.#graph, container, {
      primitives: {
        nodes: { shapes: [sdfCircle(), sdfSquare({ cornerRadius: 0.2 }), sdfDiamond(), sdfTriangle()] },
      },
      settings: {
        enableNodeDrag: true,
        allowInvalidContainer: true,
        labelDensity: 0.9,
        labelGridCellSize: 110,
        labelRenderedSizeThreshold: 5,
        minCameraRatio: 0.03,
        maxCameraRatio: 3,
        stagePadding: 40,
        itemSizesReference: 'screen',
      },
      styles: {
        nodes: {
          x: { attribute: 'x' },
          y: { attribute: 'y' },
          size: { attribute: 'size' },
          color: { attribute: 'color' },
          shape: { attribute: 'shape' },
          opacity: { attribute: 'opacity' },
          label: { attribute: 'label' },
          labelColor: () => this.#colours.ink,
          labelFont: FONT,
          labelSize: 12.5,
          cursor: 'pointer',
          depth: (look, state) => (state.isHovered || look.isMarked ? 'topNodes' : 'nodes'),
          visibility: (look) => (look.isHidden ? 'hidden' : 'visible'),
          labelVisibility: (look, state) =>
            state.isHovered || look.isMarked ? 'visible' : look.opacity < 1 ? 'hidden' : 'auto',
          backdropVisibility: (look, state) => (state.isHovered || look.isMarked ? 'visible' : 'hidden'),
          backdropColor: () => this.#colours.raised,
          backdropShadowColor: 'rgba(0, 0, 0, 0.25)',
          backdropShadowBlur: 6,
          backdropPadding: 4,
          backdropCornerRadius: 4,
          backdropBorderWidth: 1.5,
          backdropBorderColor: (look) => (look.isMarked ? this.#colours.press : this.#colours.line),
          backdropLabelPadding: 3,
        },
        edges: {
          size: { attribute: 'size' },
          color: { attribute: 'color' },
          opacity: { attribute: 'opacity' },
          visibility: (look) => (look.isHidden ? 'hidden' : 'visible'),
        },
      },
    });
    this.#sizes.observe(container);
    this.#worker.addEventListener('message', (event: MessageEvent<LayoutReply>) => {
      this.#place(event.data);
      if (!event.data.isDone || event.data.run !== this.#run) return;
      if (this.#isSettling && this.#shown) {
        this.#isSettling = false;
        this.#mark(this.#shown);
      }
      reactions.onsettled();
    });
    this.#sigma.on('clickNode', ({ node }) => reactions.onselect(node));
    this.#sigma.on('clickStage', () => reactions.onclear());
    this.#sigma.on('doubleClickNode', (event) => {
      event.preventSigmaDefault();
      reactions.onexpand(event.node);
    });
    this.#sigma.on('nodeDragEnd', ({ allDraggedNodes }) => {
      for (const node of allDraggedNodes) this.#graph.setNodeAttribute(node, 'isKept', true);
    });
  }

  /**
   * Draw these names; those that were there before stay where they are, unless the centre is another one. Returns whether places
   * are looked for: `onsettled` comes when they are there.
   */
  show(shown: Shown): boolean {
    const before = this.#shown;
    const isSame = before !== null && before.names === shown.names && before.ties === shown.ties;
    this.#shown = shown;
    if (!isSame) {
      const isOther = before?.names[0]?.entityId !== shown.names[0]?.entityId;
      const isLarge = shown.ties.length > MANY_TIES;
      this.#isSettling = isLarge;
      const isSmall = shown.names.length <= 60;
      this.#sigma.setSettings({
        hideEdgesOnMove: isLarge,
        labelGridCellSize: isSmall ? 48 : 110,
        labelRenderedSizeThreshold: isSmall ? 0 : 5,
      });
      this.#fill(shown, isOther);
      this.#sigma.refresh();
      this.#settle(isOther);
    }
    this.#mark(shown);
    return !isSame;
  }

  recolour(colours: Colours): void {
    this.#colours = colours;
    this.#graph.updateEachNodeAttributes((_, look) => ({ ...look, color: colours.groups[look.group] }));
    if (this.#shown) this.#mark(this.#shown);
  }

  zoom(direction: 'in' | 'out' | 'fit'): void {
    const camera = this.#sigma.getCamera();
    const duration = this.#isCalm ? 0 : 140;
    if (direction === 'fit') void camera.reset({ duration });
    else if (direction === 'in') void camera.zoomIn({ duration });
    else void camera.zoomOut({ duration });
  }

  /** What is seen now, as a PNG on paper. */
  async picture(): Promise<Blob> {
    this.#sigma.refresh();
    const stage = this.#sigma.getStageCanvas();
    const canvas = document.createElement('canvas');
    canvas.width = stage.width;
    canvas.height = stage.height;
    const context = canvas.getContext('2d');
    if (context) {
      context.fillStyle = this.#colours.paper;
      context.fillRect(0, 0, canvas.width, canvas.height);
      // In the same task as the refresh: a WebGL canvas is empty once it has been shown.
      context.drawImage(stage, 0, 0);
    }
    return new Promise((resolve, reject) =>
      canvas.toBlob((blob) => (blob ? resolve(blob) : reject(new Error('no picture'))), 'image/png'),
    );
  }

  kill(): void {
    this.#sizes.disconnect();
    this.#worker.terminate();
    this.#sigma.kill();
  }

  #fill({ names, ties }: Shown, isOther: boolean): void {
    const graph = this.#graph;
    const wanted = new Set(names.map((name) => name.entityId));
    if (isOther) graph.clear();
    else
      for (const node of graph.nodes()) {
        if (!wanted.has(node)) graph.dropNode(node);
      }
    graph.clearEdges();
    const near = neighbours(ties);
    const most = Math.max(...names.map((name) => name.chunkCount), 1);
    const scale = names.length > 400 ? 0.65 : 1;
    names.forEach((name, index) => {
      const old = graph.hasNode(name.entityId) ? graph.getNodeAttributes(name.entityId) : null;
      const size = scale * (SMALLEST + (LARGEST - SMALLEST) * Math.sqrt(name.chunkCount / most));
      const group = groupOf(name.entityType);
      const look = {
        size,
        label: labelOf(name.entityName),
        group,
        shape: shapes[group],
        color: this.#colours.groups[group],
      };
      if (old) {
        graph.mergeNodeAttributes(name.entityId, look);
        return;
      }
      const beside = near.get(name.entityId)?.find((id) => graph.hasNode(id));
      const at = beside && !isOther ? graph.getNodeAttributes(beside) : { x: 0, y: 0 };
      // A sunflower: the nearest in the middle, all apart from each other, and the same each time.
      const [distance, angle] = [STEP * Math.sqrt(index), index * 2.399963];
      const reach = beside && !isOther ? STEP * 2 : distance;
      graph.addNode(name.entityId, {
        ...look,
        x: at.x + reach * Math.cos(angle),
        y: at.y + reach * Math.sin(angle),
        opacity: 1,
        isMarked: false,
        isKept: false,
        isHidden: false,
      });
    });
    for (const tie of ties)
      graph.addEdge(tie.sourceEntityId, tie.targetEntityId, {
        size: scale * Math.min(1 + Math.log2(1 + tie.weight) / 2, 4),
        color: this.#colours.line,
        opacity: 1,
        weight: Math.min(1 + tie.weight / 4, 4),
        isLink: tie.isLink,
        isHidden: this.#isSettling,
      });
  }

  #settle(isOther: boolean): void {
    this.#run += 1;
    this.#order = this.#graph.nodes();
    const places = new Map(this.#order.map((node, index) => [node, index]));
    const before = this.#order.length;
    const names = new Float32Array(before * 4);
    this.#order.forEach((node, index) => {
      const look = this.#graph.getNodeAttributes(node);
      names.set([look.x, look.y, look.size, look.isKept || (!isOther && look['isOld'] === true) ? 1 : 0], index * 4);
      this.#graph.setNodeAttribute(node, 'isOld', true);
    });
    const ties = new Float32Array(this.#graph.size * 3);
    let place = 0;
    this.#graph.forEachEdge((_, look, source, target) => {
      ties.set([places.get(source) ?? 0, places.get(target) ?? 0, look.weight], place);
      place += 3;
    });
    const rounds = before > 600 ? 220 : 500;
    const request: LayoutRequest = { run: this.#run, names, ties, rounds };
    this.#worker.postMessage(request, { transfer: [names.buffer, ties.buffer] });
  }

  #place({ run, places, isDone }: LayoutReply): void {
    if (run !== this.#run || (this.#isCalm && !isDone)) return;
    const index = new Map(this.#order.map((node, place) => [node, place]));
    this.#graph.updateEachNodeAttributes(
      (node, look) => {
        const place = index.get(node);
        if (place === undefined || look.isKept) return look;
        look.x = places[place * 2] ?? look.x;
        look.y = places[place * 2 + 1] ?? look.y;
        return look;
      },
      { attributes: ['x', 'y'] },
    );
  }

  #mark({ names, selected, way, hidden }: Shown): void {
    const graph = this.#graph;
    const steps = new Set(way.slice(1).map((node, index) => pairOf(way[index] ?? '', node)));
    const isBright = (node: string): boolean =>
      way.length > 0 ? way.includes(node) : node === selected || graph.areNeighbors(node, selected);
    // Around the name in the middle is all that is shown, so it sets nothing back.
    const focused = way.length > 0 || (graph.hasNode(selected) && selected !== names[0]?.entityId);
    const isHidden = (node: string): boolean => hidden.has(graph.getNodeAttribute(node, 'group'));
    graph.updateEachNodeAttributes((node, look) => ({
      ...look,
      opacity: !focused || isBright(node) ? 1 : 0.25,
      isMarked: node === selected || way.includes(node),
      isHidden: isHidden(node),
    }));
    graph.updateEachEdgeAttributes((_, look, source, target) => {
      const isStep = steps.has(pairOf(source, target));
      const isNear = way.length > 0 ? isStep : !focused || source === selected || target === selected;
      const stands = isStep || (focused && isNear);
      return {
        ...look,
        color: stands ? this.#colours.press : this.#colours.line,
        opacity: isNear ? 1 : 0.3,
        isHidden: this.#isSettling || isHidden(source) || isHidden(target),
      };
    });
  }
}

function pairOf(one: string, other: string): string {
  return one < other ? `${one} ${other}` : `${other} ${one}`;
}

function neighbours(ties: Tie[]): Map<string, string[]> {
  const near = new Map<string, string[]>();
  for (const { sourceEntityId: source, targetEntityId: target } of ties) {
    near.set(source, [...(near.get(source) ?? []), target]);
    near.set(target, [...(near.get(target) ?? []), source]);
  }
  return near;
}
