// Where the steps of a workflow stand on the picture.
import dagre from '@dagrejs/dagre';
import type { FlowStep } from './flowSteps';

export const nodeWidth = 196;
export const nodeHeight = 62;

export interface Place {
    x: number;
    y: number;
}

export interface FlowLayout {
    places: Map<string, Place>;
    width: number;
    height: number;
}

// From left to right, from top to bottom where the screen is narrow.
export function layOut(steps: readonly FlowStep[], narrow: boolean): FlowLayout {
    const graph = new dagre.graphlib.Graph();
    graph.setGraph({
        rankdir: narrow ? 'TB' : 'LR',
        nodesep: 18,
        ranksep: narrow ? 38 : 52,
        marginx: 8,
        marginy: 8,
    });
    graph.setDefaultEdgeLabel(() => ({}));
    for (const { name } of steps) graph.setNode(name, { width: nodeWidth, height: nodeHeight });
    for (const { name, after } of steps) {
        // While it is written a workflow may name steps that are not there.
        for (const before of after) if (graph.hasNode(before) && before !== name) graph.setEdge(before, name);
    }
    dagre.layout(graph);
    const places = new Map<string, Place>();
    for (const { name } of steps) {
        const node = graph.node(name);
        if (node) places.set(name, { x: (node.x ?? 0) - nodeWidth / 2, y: (node.y ?? 0) - nodeHeight / 2 });
    }
    const { width = 0, height = 0 } = graph.graph();
    return { places, width, height };
}
